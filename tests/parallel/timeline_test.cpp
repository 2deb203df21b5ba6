#include "parallel/schedule/timeline.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "parallel/schedule/builders.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

/// Twice the units of a stage: so many that a gradient that leaves before the stage's last weight
/// half saves little.
constexpr int units = 16;

Stages even(int stages) {
  return stages_from_counts(std::vector<int>(static_cast<std::size_t>(stages), units / 2),
                            stages * units / 2);
}

double bubble(const PipelineSchedule& schedule) {
  const Pipeline pipeline{schedule, even(schedule.num_stages())};
  const StepShape shape{.num_units = pipeline.num_units(),
                        .num_micro_batches = schedule.num_micro_batches,
                        .max_micro_batches = schedule.num_micro_batches};
  const CostModel clock{[](int, const Action& a) { return a.computes() ? 1.0 : 0.0; }};
  return simulate_timeline(build_training_steps(shape, pipeline), 1, clock).bubble_ratio();
}

const CostModel blocking{[](int, const Action&) { return 1.0; }, false};

}  // namespace

TEST_CASE("the walk of whole lists finds the papers' bubbles") {
  for (const int ranks : {2, 4, 8}) {
    const int micro_batches = 3 * ranks;
    const double flushed = (ranks - 1.0) / micro_batches;
    INFO(ranks << " ranks");
    CHECK(bubble(gpipe(ranks, micro_batches)) == Approx(flushed).epsilon(0.05));
    CHECK(bubble(one_f_one_b(ranks, micro_batches)) == Approx(flushed).epsilon(0.05));
    for (const int v : {2, 3})
      CHECK(bubble(interleaved(ranks, v, micro_batches)) == Approx(flushed / v).epsilon(0.05));
    CHECK(bubble(zero_bubble_h1(ranks, micro_batches)) == Approx(flushed / 3));
    CHECK(bubble(v_shaped(ranks, micro_batches)) == Approx(flushed / 6));
    CHECK(bubble(zero_bubble_h1(ranks, micro_batches)) <= 0.4 * bubble(one_f_one_b(ranks, micro_batches)));
    CHECK(bubble(v_shaped(ranks, micro_batches)) <= 0.18 * bubble(one_f_one_b(ranks, micro_batches)));
  }
}

TEST_CASE("the walk tells when each action begins and ends, transfers beside computing") {
  const StepShape shape{.num_units = 2, .num_micro_batches = 1, .max_micro_batches = 1};
  const auto lists = build_training_steps(shape, {gpipe(2, 1), {{0, 1, 2}}});
  const CostModel clock{[](int, const Action& a) { return a.computes() ? 1 : a.transfers() ? 0.5 : 0.0; }};
  const Timeline timeline = simulate_timeline(lists, 1, clock);
  // Actions are, in order: receive, forward, send (except on the last rank), backward_input,
  // backward_weight, …
  CHECK(timeline.actions[0][1].end_s == 1);
  CHECK(timeline.actions[1][1].start_s == 1.5);
  CHECK(timeline.actions[1][2].end_s == 3.5);  // the last rank's backward_input
  CHECK(timeline.actions[0][3].start_s == 4);
  CHECK(timeline.actions[0][4].end_s == 6);
  CHECK(timeline.end_s() == 6);
  CHECK(timeline.computing_s == std::vector<double>{3, 3});
  CHECK(timeline.bubble_ratio() == Approx(1));
}

TEST_CASE("the third send waits for the first") {
  using enum ActionKind;
  const auto a = [](ActionKind kind, int m) {
    return Action{kind, 0, m, Payload::activation, kind == send ? 1 : 0};
  };
  std::vector<ActionList> lists{
      {a(send, 0), a(send, 1), a(send, 2)},
      {{forward, 1, 7}, a(receive, 0), {forward, 1, 8}, a(receive, 1), a(receive, 2)}};
  const CostModel clock{[](int, const Action& action) { return action.computes() ? 1.0 : 0.0; }};
  CHECK(simulate_timeline(lists, 1, clock).actions[0][1].start_s == 0);
  CHECK(simulate_timeline(lists, 1, clock).actions[0][2].start_s == 1);
}

TEST_CASE("a tied table's gradient leaves once it is summed over the ranks") {
  using enum ActionKind;
  const Action sends{send, 1, -1, Payload::tied_gradient, 0},
      receives{receive, 1, -1, Payload::tied_gradient, 1};
  const std::vector<ActionList> lists{{receives, {control}}, {{reduce, 1}, sends, {control}}};
  const CostModel clock{[](int, const Action& a) {
    return a.kind == reduce ? 3.0 : a.transfers() ? 1.0 : 0.0;
  }};
  const Timeline timeline = simulate_timeline(lists, 1, clock);
  CHECK(timeline.actions[1][1].start_s == 3);
  CHECK(timeline.end_s() == 4);
}

TEST_CASE("a walk that cannot go on names the rank and the action") {
  using enum ActionKind;
  const auto activation = [](ActionKind kind, int unit, int m) {
    return Action{kind, unit, m, Payload::activation, kind == send ? 1 : 0};
  };
  const auto walk = [](std::vector<ActionList> lists, int dp) { simulate_timeline(lists, dp, blocking); };
  CHECK_THROWS_WITH(walk({{activation(send, 0, 0), {control}}, {{control}}}, 1),
                    Catch::Contains("rank 0 waits forever in its action 1, control"));
  CHECK_THROWS_WITH(walk({{activation(send, 0, 0)}, {}}, 1), Catch::Contains("is not received"));
  CHECK_THROWS_WITH(walk({{}, {activation(receive, 0, 0)}}, 1), Catch::Contains("is not sent"));
  CHECK_THROWS_WITH(walk({{}, {activation(receive, 0, 0), {forward, 1, 0}}}, 1),
                    Catch::Contains("rank 1 waits forever in its action 1, forward(unit 1, micro-batch 0)"));
  CHECK_THROWS_WITH(walk({{activation(send, 0, 0)}, {activation(receive, 0, 1)}}, 1),
                    Catch::Contains("where rank 1 does receive(activation, unit 0, micro-batch 1"));
  CHECK_THROWS_WITH(walk({{{reduce, 0}}, {{reduce, 1}}}, 2),
                    Catch::Contains("rank 0 does reduce(unit 0) where rank 1 does reduce(unit 1)"));
  CHECK_THROWS_WITH(walk({{{reduce, 0}}, {}}, 2), Catch::Contains("rank 0 waits forever"));
  CHECK_THROWS_WITH(walk({{activation(send, 0, 0)}}, 1), Catch::Contains("no such peer"));
}
