#include "parallel/validator.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "parallel/builders.hpp"

using namespace dt;
using namespace dt::parallel;

TEST_CASE("what the builder emits is valid") {
  for (int units : {1, 2, 5}) {
    for (int micro_batches : {1, 2, 7}) {
      CHECK_NOTHROW(
          validate_training_step(build_training_step(units, 0, micro_batches), units, 0, micro_batches));
    }
  }
}

TEST_CASE("a list that lacks any one action is refused") {
  const ActionList whole = build_training_step(3, 0, 2);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ActionList list = whole;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("without " << to_string(whole[i]));
    CHECK_THROWS_AS(validate_training_step(list, 3, 0, 2), Error);
  }
}

TEST_CASE("a list with any one action twice is refused") {
  const ActionList whole = build_training_step(3, 0, 2);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ActionList list = whole;
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    INFO("twice " << to_string(whole[i]));
    CHECK_THROWS_AS(validate_training_step(list, 3, 0, 2), Error);
  }
}

TEST_CASE("an action before what it needs is refused and both are named") {
  ActionList list = build_training_step(2, 0, 1);
  std::swap(list[0], list[1]);
  CHECK_THROWS_WITH(
      validate_training_step(list, 2, 0, 1),
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
  CHECK_NOTHROW(validate_training_step(list, 2, 0, 1));
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
  CHECK_NOTHROW(validate_training_step(list(0), 2, 0, 2));
  CHECK_THROWS_WITH(
      validate_training_step(list(1), 2, 0, 2),
      Catch::Contains(
          "backward_weight(unit 0, micro-batch 1) comes before backward_weight(unit 0, micro-batch 0)"));
}

TEST_CASE("units and micro-batches that do not exist are refused") {
  ActionList list = build_training_step(2, 0, 1);
  list[0].unit = 7;
  CHECK_THROWS_AS(validate_training_step(list, 2, 0, 1), Error);
  CHECK_THROWS_AS(validate_training_step(build_training_step(2, 0, 2), 2, 0, 1), Error);
}

TEST_CASE("what a block discards it must compute again, once, before its backward") {
  const ActionList whole = build_training_step(5, 0, 2, /*recompute=*/true);
  CHECK_NOTHROW(validate_training_step(whole, 5, 0, 2));
  int discards = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].kind != ActionKind::discard && whole[i].kind != ActionKind::recompute) continue;
    discards += whole[i].kind == ActionKind::discard ? 1 : 0;
    INFO(to_string(whole[i]));
    ActionList without = whole, twice = whole;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    CHECK_THROWS_AS(validate_training_step(without, 5, 0, 2), Error);
    CHECK_THROWS_AS(validate_training_step(twice, 5, 0, 2), Error);
  }
  CHECK(discards == 2 * 2);  // of three blocks two, the last one's backward comes at once; two micro-batches
}

TEST_CASE("only blocks are computed again") {
  for (const int unit : {0, 2}) {
    ActionList list = build_training_step(3, 0, 1);
    const Action forward{ActionKind::forward, unit, 0};
    const auto place = std::find(list.begin(), list.end(), forward) + 1;
    list.insert(place, {{ActionKind::discard, unit, 0}, {ActionKind::recompute, unit, 0}});
    CHECK_THROWS_WITH(validate_training_step(list, 3, 0, 1), Catch::Contains("only blocks"));
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
      validate_training_step(list, 2, 0, 2),
      Catch::Contains("forward(unit 1, micro-batch 1) comes before forward(unit 1, micro-batch 0)"));
}
