// Tests lists of whole pipelines: the validator accepts those that builders make, and refuses
// broken ones.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "base/error.hpp"
#include "parallel/one_rank.hpp"
#include "parallel/paper_ranks.hpp"
#include "parallel/schedule/validator.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

namespace {

/// The lists of pp × dp ranks. dp rank d has `micro_batches[d]` micro-batches.
struct Step {
  Pipeline pipeline;
  std::vector<StepShape> shapes;
  std::vector<ActionList> lists;

  Step(Pipeline p, const std::vector<int>& micro_batches, bool recompute, int zero) : pipeline(std::move(p)) {
    int first = 0;
    for (const int count : micro_batches) {
      shapes.push_back({.num_units = pipeline.num_units(),
                        .first_micro_batch = first,
                        .num_micro_batches = count,
                        .max_micro_batches = pipeline.schedule.num_micro_batches,
                        .recompute = recompute,
                        .zero = zero});
      first += count;
    }
    lists.resize(static_cast<std::size_t>(pipeline.num_ranks()) * shapes.size());
    for (std::size_t d = 0; d < shapes.size(); ++d) {
      const auto of_replica = build_training_steps(shapes[d], pipeline);
      for (std::size_t p2 = 0; p2 < of_replica.size(); ++p2) lists[p2 * shapes.size() + d] = of_replica[p2];
    }
  }
  int dp() const { return static_cast<int>(shapes.size()); }
  void validate() const { validate_training_steps(lists, shapes, pipeline); }
  auto run_on_paper() const { return paper::Ranks(lists, pipeline, dp(), shapes.front().zero).run(); }
};

Stages one_each(int stages) {
  return stages_from_counts(std::vector<int>(static_cast<std::size_t>(stages), 1), stages);
}

std::vector<PipelineSchedule> all_schedules(int ranks, int micro_batches) {
  std::vector<PipelineSchedule> all{gpipe(ranks, micro_batches), zero_bubble_h1(ranks, micro_batches),
                                    v_shaped(ranks, micro_batches)};
  for (const int v : {1, 2, 3, 4}) all.push_back(interleaved(ranks, v, micro_batches));
  return all;
}

void validate_all(const std::vector<int>& ranks, const std::vector<int>& micro_batches) {
  for (const int p : ranks) {
    for (const int m : micro_batches) {
      INFO(p << " ranks, " << m << " micro-batches");
      for (const PipelineSchedule& schedule : all_schedules(p, m)) {
        const Pipeline pipeline{schedule, one_each(schedule.num_stages()), true};
        CHECK_NOTHROW(Step(pipeline, {m}, false, 0).validate());
        const StepShape forwards{
            .num_units = pipeline.num_units(), .num_micro_batches = m, .max_micro_batches = m, .zero = 3};
        CHECK_NOTHROW(validate_no_deadlock(build_evaluations(forwards, pipeline), p));
      }
    }
  }
}

/// Returns a small step of any kind.
Step random_step(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int ranks = 2 + below(3), micro_batches = 1 + below(5);
  const auto schedules = all_schedules(ranks, micro_batches);
  const PipelineSchedule& schedule = schedules[static_cast<std::size_t>(below(5))];
  std::vector<int> counts;
  for (int stage = 0; stage < schedule.num_stages(); ++stage) counts.push_back(1 + below(3));
  int units = 0;
  for (const int count : counts) units += count;
  std::vector<int> replicas{micro_batches};
  if (below(2) == 1) replicas.push_back(std::max(0, micro_batches - below(2)));
  const Pipeline pipeline{schedule, stages_from_counts(counts, units), below(2) == 1};
  return {pipeline, replicas, below(2) == 1, below(4)};
}

/// Returns the result of one rank that computes the same step alone.
std::map<std::pair<int, int>, paper::Value> reference(const Step& step) {
  Pipeline alone = without_stages(step.pipeline.num_units(), step.pipeline.schedule.num_micro_batches);
  alone.tied = step.pipeline.tied;
  std::vector<int> micro_batches;
  for (const StepShape& shape : step.shapes) micro_batches.push_back(shape.num_micro_batches);
  return Step(alone, micro_batches, false, step.shapes.front().zero).run_on_paper();
}

/// Drops, doubles, swaps, moves or alters an action. Returns a description of the change.
std::string break_at_random(Step& step, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  ActionList& list = step.lists[below(step.lists.size())];
  const std::size_t i = below(list.size());
  const auto place = [&](std::size_t k) { return list.begin() + static_cast<std::ptrdiff_t>(k); };
  const std::string name = to_string(list[i]);
  switch (below(6)) {
    case 0:
      list.erase(place(i));
      return "dropped " + name;
    case 1: {
      const Action again = list[i];
      list.insert(place(below(list.size() + 1)), again);
      return "doubled " + name;
    }
    case 2:
      std::swap(list[i], list[below(list.size())]);
      return "swapped " + name;
    case 3:
      if (i + 1 < list.size()) std::swap(list[i], list[i + 1]);
      return "swapped with its successor " + name;
    case 4: {
      ActionList& other = step.lists[below(step.lists.size())];
      const Action moved = list[i];
      list.erase(place(i));
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)), moved);
      return "to another rank " + name;
    }
    default:
      int& field = list[i].transfers() ? list[i].peer
                   : random() % 2 == 0 ? list[i].unit
                                       : list[i].micro_batch;
      field += random() % 2 == 0 ? 1 : -1;
      return "another peer, unit or micro-batch for " + name;
  }
}

bool accepts(const Step& step) {
  try {
    step.validate();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void check_broken(int trials, unsigned seed) {
  std::mt19937 random(seed);
  int accepted = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Step step = random_step(random);
    const auto expected = reference(step);
    const std::string what = break_at_random(step, random);
    if (!accepts(step)) continue;
    ++accepted;
    INFO("trial " << trial << ": " << what);
    std::map<std::pair<int, int>, paper::Value> result;
    REQUIRE_NOTHROW(result = step.run_on_paper());
    REQUIRE(result == expected);
  }
  CHECK(accepted > 0);  // independent actions may be swapped
  CHECK(accepted < trials / 3);
}

}  // namespace

TEST_CASE("all schedules are accepted") {
  validate_all({1, 2, 3, 4, 7, 16}, {1, 2, 3, 5, 8, 17});
}

TEST_CASE("all schedules of up to 16 ranks and 64 micro-batches are accepted", "[.long]") {
  std::vector<int> ranks, micro_batches;
  for (int p = 1; p <= 16; ++p) ranks.push_back(p);
  for (int m = 1; m <= 64; ++m) micro_batches.push_back(m);
  validate_all(ranks, micro_batches);
}

TEST_CASE("pipelines with everything are accepted, and sum what one rank alone would") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const Step step = random_step(random);
    INFO("trial " << trial << ", " << step.pipeline.num_ranks() << " stages, dp " << step.dp() << ", zero "
                  << step.shapes.front().zero);
    REQUIRE_NOTHROW(step.validate());
    REQUIRE(step.run_on_paper() == reference(step));
  }
}

TEST_CASE("of lists broken at random none is accepted that computes another step") {
  check_broken(1000, 1);
}

TEST_CASE("of many lists broken at random none is accepted that computes another step", "[.long]") {
  for (unsigned seed = 2; seed < 32; ++seed) check_broken(1000, seed);
}

TEST_CASE("with gradients divided, a micro-batch's are summed before the next one's begin") {
  using enum ActionKind;
  const StepShape shape{.num_units = 2, .num_micro_batches = 2, .max_micro_batches = 2, .zero = 2};
  const ActionList list{{gather, 0},
                        {gather, 1},
                        {forward, 0, 0},
                        {forward, 1, 0},
                        {reduce, 1, 0},
                        {forward, 0, 1},
                        {forward, 1, 1},
                        {reduce, 1, 1},
                        {backward_input, 1, 0},
                        {backward_input, 0, 0},
                        {backward_input, 1, 1},
                        {backward_input, 0, 1},
                        {backward_weight, 1, 0},
                        {backward_weight, 1, 1},
                        {backward_weight, 0, 0},
                        {backward_weight, 0, 1},
                        {reduce, 0, 0},
                        {reduce, 0, 1},
                        {control},
                        {step}};
  CHECK_THROWS_WITH(
      validate_training_step(list, shape),
      Catch::Contains("backward_weight(unit 0, micro-batch 1) comes before reduce(unit 0, micro-batch 0)"));
}

TEST_CASE("errors name the rank and the action") {
  Step step({one_f_one_b(2, 2), one_each(2)}, {2}, false, 0);
  ActionList& list = step.lists[1];
  const auto place = std::find(list.begin(), list.end(), Action{ActionKind::forward, 1, 1});
  std::iter_swap(place, place + 1);
  CHECK_THROWS_WITH(step.validate(), Catch::Contains("rank 1, action ") && Catch::Contains("comes before"));
}
