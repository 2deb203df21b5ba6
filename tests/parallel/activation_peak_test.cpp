#include "parallel/schedule/activation_peak.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "parallel/schedule/builders.hpp"

using namespace dt::parallel;

namespace {

std::vector<ActionList> lists_of(const PipelineSchedule& schedule, int units_each, bool recompute = false) {
  const Stages stages =
      stages_from_counts(std::vector<int>(static_cast<std::size_t>(schedule.num_stages()), units_each),
                         units_each * schedule.num_stages());
  const StepShape shape{.num_units = stages.num_units(),
                        .num_micro_batches = schedule.num_micro_batches,
                        .max_micro_batches = schedule.num_micro_batches,
                        .recompute = recompute};
  return build_training_steps(shape, {schedule, stages});
}

/// Returns the most that a rank holds, in micro-batches × units.
std::int64_t most_held(const ActionList& list, std::size_t units) {
  return activation_peak_bytes(list, std::vector<UnitBytes>(units, {.saved = 1}));
}

}  // namespace

TEST_CASE("1F1B holds as many micro-batches as ranks follow, zero-bubble no more than ranks, GPipe all") {
  for (const int ranks : {2, 4, 8}) {
    const int m = 3 * ranks;
    const auto units = static_cast<std::size_t>(2 * 2 * ranks);
    const auto plain = lists_of(one_f_one_b(ranks, m), 2), h1 = lists_of(zero_bubble_h1(ranks, m), 2),
               v = lists_of(v_shaped(ranks, m), 2), all = lists_of(gpipe(ranks, m), 2);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      CHECK(most_held(plain[r], units) == 2 * (ranks - rank));
      CHECK(most_held(h1[r], units) <= 2 * ranks);
      CHECK(most_held(v[r], units) <= 2 * 2 * ranks);  // with twice as many virtual stages
      CHECK(most_held(all[r], units) == 2 * m);
    }
  }
}

TEST_CASE(
    "where nothing is handed over apart, zero-bubble H1 holds no more than as many forwards as "
    "ranks") {
  const std::int64_t output = 1, saved = 15, messages = 8 * output;  // messages in both directions
  for (const int ranks : {2, 4, 8}) {
    const std::vector<UnitBytes> units(static_cast<std::size_t>(2 * ranks),
                                       {.output = output, .saved = saved});
    for (const ActionList& list : lists_of(zero_bubble_h1(ranks, 3 * ranks), 2))
      CHECK(activation_peak_bytes(list, units) <= ranks * 2 * (saved + output) + messages);
  }
}

TEST_CASE("recompute holds what blocks save of one micro-batch alone") {
  const auto lists = lists_of(gpipe(2, 6), 4, true);
  CHECK(most_held(lists[0], 8) == 6 + 1);  // the embedding saves for all micro-batches, a block for one
}

TEST_CASE("bytes are those of outputs, what is saved and handed over, received and sent") {
  const std::vector<UnitBytes> units{{.output = 10, .saved = 1},
                                     {.output = 100, .saved = 2, .backward_handoff = 5}};
  const auto lists = lists_of(gpipe(2, 1), 1);
  CHECK(activation_peak_bytes(lists[0], units) == 10 + 1 + 10);  // output, sent; saved; dy, received at once
  CHECK(activation_peak_bytes(lists[1], units) ==
        10 + 100 + 2 + 5);  // input, then dx in its place; y, saved, backward handoff
}

TEST_CASE("buffers of each size count with the most of them at one time") {
  const auto most_of = [](const ActionList& list, const UnitBytes& unit) {
    return activation_peak_bytes(list, std::vector<UnitBytes>(8, unit));
  };
  for (const PipelineSchedule& schedule : {one_f_one_b(4, 6), v_shaped(4, 6), interleaved(4, 2, 6)}) {
    for (const bool recompute : {false, true}) {
      for (const ActionList& list : lists_of(schedule, 8 / schedule.num_stages(), recompute)) {
        CHECK(most_of(list, {.output = 3, .saved = 5, .backward_handoff = 7}) ==
              most_of(list, {.output = 3}) + most_of(list, {.saved = 5}) +
                  most_of(list, {.backward_handoff = 7}));
        CHECK(most_of(list, {.output = 3, .saved = 3}) <=
              most_of(list, {.output = 3}) + most_of(list, {.saved = 3}));
      }
    }
  }
}

TEST_CASE("nothing is held at the end of a step") {
  const std::vector<UnitBytes> units(8, {.output = 3, .saved = 5, .backward_handoff = 7});
  for (const PipelineSchedule& schedule :
       {one_f_one_b(4, 6), zero_bubble_h1(4, 6), v_shaped(4, 6), interleaved(4, 2, 6)}) {
    for (const bool recompute : {false, true}) {
      const int each = 8 / schedule.num_stages();
      for (const ActionList& list : lists_of(schedule, each, recompute)) {
        ActionList twice = list;  // anything left over would add up
        twice.insert(twice.end(), list.begin(), list.end());
        CHECK(activation_peak_bytes(twice, units) == activation_peak_bytes(list, units));
      }
    }
  }
}
