#include "parallel/schedule/validator.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "parallel/one_rank.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

TEST_CASE("what the builder emits is valid") {
  for (int units : {1, 2, 5}) {
    for (int micro_batches : {1, 2, 7}) {
      CHECK_NOTHROW(validate_training_step(
          build_training_step({.num_units = units, .num_micro_batches = micro_batches}),
          {.num_units = units, .num_micro_batches = micro_batches}));
    }
  }
}

TEST_CASE("a list that lacks any one action is refused") {
  const ActionList whole = build_training_step({.num_units = 3, .num_micro_batches = 2});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ActionList list = whole;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("without " << to_string(whole[i]));
    CHECK_THROWS_AS(validate_training_step(list, {.num_units = 3, .num_micro_batches = 2}), Error);
  }
}

TEST_CASE("a list with any one action twice is refused") {
  const ActionList whole = build_training_step({.num_units = 3, .num_micro_batches = 2});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ActionList list = whole;
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    INFO("twice " << to_string(whole[i]));
    CHECK_THROWS_AS(validate_training_step(list, {.num_units = 3, .num_micro_batches = 2}), Error);
  }
}

TEST_CASE("an action before what it needs is refused and both are named") {
  ActionList list = build_training_step({.num_units = 2, .num_micro_batches = 1});
  std::swap(list[0], list[1]);
  CHECK_THROWS_WITH(
      validate_training_step(list, {.num_units = 2, .num_micro_batches = 1}),
      Catch::Contains("forward(unit 1, micro-batch 0) comes before forward(unit 0, micro-batch 0)"));
}

TEST_CASE("backward halves may be apart, as zero-bubble schedules have them") {
  using enum ActionKind;
  const ActionList list{{forward, 0, 0},
                        {forward, 1, 0},
                        {backward_input, 1, 0},
                        {backward_input, 0, 0},
                        {backward_weight, 0, 0},
                        {reduce, 0},
                        {backward_weight, 1, 0},
                        {reduce, 1},
                        {control},
                        {step}};
  CHECK_NOTHROW(validate_training_step(list, {.num_units = 2, .num_micro_batches = 1}));
}

TEST_CASE("micro-batches may go in any order but for a unit's weight halves") {
  using enum ActionKind;
  const auto list = [](int first_weight) {
    const int second_weight = 1 - first_weight;
    return ActionList{{forward, 0, 1},
                      {forward, 0, 0},
                      {forward, 1, 0},
                      {forward, 1, 1},
                      {backward_input, 1, 1},
                      {backward_input, 0, 1},
                      {backward_input, 1, 0},
                      {backward_weight, 1, 0},
                      {backward_weight, 1, 1},
                      {reduce, 1},
                      {backward_input, 0, 0},
                      {backward_weight, 0, first_weight},
                      {backward_weight, 0, second_weight},
                      {reduce, 0},
                      {control},
                      {step}};
  };
  CHECK_NOTHROW(validate_training_step(list(0), {.num_units = 2, .num_micro_batches = 2}));
  CHECK_THROWS_WITH(
      validate_training_step(list(1), {.num_units = 2, .num_micro_batches = 2}),
      Catch::Contains(
          "backward_weight(unit 0, micro-batch 1) comes before backward_weight(unit 0, micro-batch 0)"));
}

TEST_CASE("units and micro-batches that do not exist are refused") {
  ActionList list = build_training_step({.num_units = 2, .num_micro_batches = 1});
  list[0].unit = 7;
  CHECK_THROWS_AS(validate_training_step(list, {.num_units = 2, .num_micro_batches = 1}), Error);
  CHECK_THROWS_AS(validate_training_step(build_training_step({.num_units = 2, .num_micro_batches = 2}),
                                         {.num_units = 2, .num_micro_batches = 1}),
                  Error);
}

TEST_CASE("what a block discards it must compute again, once, before its backward") {
  const StepShape recomputing{.num_units = 5, .num_micro_batches = 2, .recompute = true};
  const ActionList whole = build_training_step(recomputing);
  CHECK_NOTHROW(validate_training_step(whole, recomputing));
  int discards = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].kind != ActionKind::discard && whole[i].kind != ActionKind::recompute) continue;
    discards += whole[i].kind == ActionKind::discard ? 1 : 0;
    INFO(to_string(whole[i]));
    ActionList without = whole, twice = whole;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    CHECK_THROWS_AS(validate_training_step(without, recomputing), Error);
    CHECK_THROWS_AS(validate_training_step(twice, recomputing), Error);
  }
  // In two micro-batches, two of three blocks are discarded, as the last one's backward comes at once.
  CHECK(discards == 2 * 2);
}

TEST_CASE("only blocks are computed again") {
  for (const int unit : {0, 2}) {
    ActionList list = build_training_step({.num_units = 3, .num_micro_batches = 1});
    const Action forward{ActionKind::forward, unit, 0};
    const auto place = std::find(list.begin(), list.end(), forward) + 1;
    list.insert(place, {{ActionKind::discard, unit, 0}, {ActionKind::recompute, unit, 0}});
    CHECK_THROWS_WITH(validate_training_step(list, {.num_units = 3, .num_micro_batches = 1}),
                      Catch::Contains("only blocks"));
  }
}

TEST_CASE("the last unit goes forward in the order of micro-batches") {
  using enum ActionKind;
  ActionList list;
  for (const int m : {1, 0})
    for (const int u : {0, 1}) list.push_back({forward, u, m});
  for (const int m : {0, 1}) {
    for (const int u : {1, 0}) list.insert(list.end(), {{backward_input, u, m}, {backward_weight, u, m}});
  }
  list.insert(list.end(), {{reduce, 0}, {reduce, 1}, {control}, {step}});
  CHECK_THROWS_WITH(
      validate_training_step(list, {.num_units = 2, .num_micro_batches = 2}),
      Catch::Contains("forward(unit 1, micro-batch 1) comes before forward(unit 1, micro-batch 0)"));
}

TEST_CASE("steps of ranks that divide their state are valid, alone and together") {
  for (const int zero : {1, 2, 3}) {
    for (const int micro_batches : {1, 3, 4, 7}) {
      for (const bool recompute : {false, true}) {
        constexpr int ranks = 3;
        std::vector<ActionList> lists;
        for (int rank = 0; rank < ranks; ++rank) {
          const int first = rank * micro_batches / ranks, last = (rank + 1) * micro_batches / ranks;
          const StepShape shape{.num_units = 5,
                                .first_micro_batch = first,
                                .num_micro_batches = last - first,
                                .max_micro_batches = ceil_div(micro_batches, ranks),
                                .recompute = recompute,
                                .zero = zero};
          lists.push_back(build_training_step(shape));
          CHECK_NOTHROW(validate_training_step(lists.back(), shape));
        }
        CHECK_NOTHROW(validate_no_deadlock(lists));
      }
    }
  }
}

TEST_CASE("a divided step that lacks any one action, or has it twice, is refused") {
  for (const int zero : {1, 2, 3}) {
    const StepShape shape{
        .num_units = 4, .num_micro_batches = 2, .max_micro_batches = 3, .recompute = true, .zero = zero};
    const ActionList whole = build_training_step(shape);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      INFO("zero " << zero << ", " << to_string(whole[i]));
      ActionList without = whole, twice = whole;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
      CHECK_THROWS_AS(validate_training_step(without, shape), Error);
      CHECK_THROWS_AS(validate_training_step(twice, shape), Error);
    }
  }
}

TEST_CASE("no more than two units are whole at a time where weights are divided") {
  const StepShape shape{.num_units = 4, .num_micro_batches = 1, .max_micro_batches = 1, .zero = 3};
  ActionList list = build_training_step(shape);
  list.insert(list.begin(), {ActionKind::gather, 2});
  CHECK_THROWS_WITH(validate_training_step(list, shape),
                    Catch::Contains("more than two units are gathered at once"));
}

TEST_CASE("lists in which ranks would wait for each other in vain are refused") {
  const StepShape shape{.num_units = 3, .num_micro_batches = 1, .max_micro_batches = 1, .zero = 3};
  std::vector<ActionList> lists(2, build_training_step(shape));
  std::swap(lists[1][0], lists[1][1]);
  CHECK_THROWS_WITH(validate_no_deadlock(lists),
                    Catch::Contains("rank 0 does gather(unit 0) where rank 1 does gather(unit 1)"));
}
