#include <catch2/catch.hpp>

#include "parallel/schedule/step_observer.hpp"

using namespace dt::parallel;

namespace {

constexpr ActionKind forward = ActionKind::forward, backward_input = ActionKind::backward_input,
                     backward_weight = ActionKind::backward_weight, recompute = ActionKind::recompute;

}  // namespace

TEST_CASE("a unit's time is the mean of each of its computations") {
  UnitTimes times(2);
  times.add({forward, 1, 0}, 1e-3);
  times.add({forward, 1, 1}, 3e-3);
  times.add({recompute, 1, 0}, 7);
  times.add({backward_input, 1, 0}, 4e-3);
  CHECK_FALSE(times.mean(1));
  times.add({backward_weight, 1, 0}, 5e-3);
  REQUIRE(times.mean(1));
  CHECK(times.mean(1)->forward == Approx(2e-3));
  CHECK(times.mean(1)->backward_input == Approx(4e-3));
  CHECK(times.mean(1)->backward_weight == Approx(5e-3));
  CHECK_FALSE(times.mean(0));
}

TEST_CASE("ranks' times add up, and are forgotten") {
  UnitTimes times(1), others(1);
  for (const ActionKind kind : {forward, backward_input, backward_weight}) {
    times.add({kind, 0, 0}, 1);
    others.add({kind, 0, 0}, 3);
  }
  for (std::size_t i = 0; i < times.sums().size(); ++i) times.sums()[i] += others.sums()[i];
  CHECK(times.mean(0)->sum() == Approx(6));
  times.clear();
  CHECK_FALSE(times.mean(0));
}
