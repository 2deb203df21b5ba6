#include "optim/schedule.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"

using namespace dt;
using optim::Schedule;
using optim::ScheduleKind;

namespace {
Schedule make(ScheduleKind kind) {
  return {.kind = kind, .lr = 1.0, .min_lr = 0.1, .warmup_steps = 10, .decay_steps = 20, .total_steps = 110};
}
}  // namespace

TEST_CASE("the warm-up rises in a line and reaches the peak at its last step") {
  for (auto kind : {ScheduleKind::cosine, ScheduleKind::linear, ScheduleKind::constant, ScheduleKind::wsd}) {
    CHECK(make(kind).at(1) == Approx(0.1));
    CHECK(make(kind).at(5) == Approx(0.5));
    CHECK(make(kind).at(10) == Approx(1.0));
  }
}

TEST_CASE("cosine is half way at half the steps and ends at the minimum") {
  const Schedule s = make(ScheduleKind::cosine);
  CHECK(s.at(60) == Approx(0.55));
  CHECK(s.at(35) == Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))));
  CHECK(s.at(110) == Approx(0.1));
}

TEST_CASE("linear falls evenly") {
  const Schedule s = make(ScheduleKind::linear);
  CHECK(s.at(60) == Approx(0.55));
  CHECK(s.at(85) == Approx(0.325));
  CHECK(s.at(110) == Approx(0.1));
}

TEST_CASE("constant stays") {
  CHECK(make(ScheduleKind::constant).at(110) == 1.0);
}

TEST_CASE("warm-up, stable, decay falls over its last steps only") {
  const Schedule s = make(ScheduleKind::wsd);
  CHECK(s.at(90) == 1.0);
  CHECK(s.at(100) == Approx(0.55));
  CHECK(s.at(110) == Approx(0.1));
}

TEST_CASE("past its last step a schedule stays where it ended") {
  CHECK(make(ScheduleKind::cosine).at(1000) == Approx(0.1));
  CHECK(make(ScheduleKind::linear).at(1000) == Approx(0.1));
}

TEST_CASE("without warm-up the first step has the full rate") {
  Schedule s = make(ScheduleKind::constant);
  s.warmup_steps = 0;
  CHECK(s.at(1) == 1.0);
}

TEST_CASE("an unknown schedule is named") {
  CHECK_THROWS_WITH(optim::parse_schedule("cosin"), Catch::Contains("cosin") && Catch::Contains("wsd"));
}
