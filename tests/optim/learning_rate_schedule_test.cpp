#include "optim/learning_rate_schedule.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"

using namespace dt;
using optim::LearningRateSchedule;
using optim::LearningRateScheduleKind;

namespace {
LearningRateSchedule make(LearningRateScheduleKind kind) {
  return {.kind = kind, .lr = 1.0, .min_lr = 0.1, .warmup_steps = 10, .decay_steps = 20, .total_steps = 110};
}
}  // namespace

TEST_CASE("the warm-up rises in a line and reaches the peak at its last step") {
  for (auto kind : {LearningRateScheduleKind::cosine, LearningRateScheduleKind::linear,
                    LearningRateScheduleKind::constant, LearningRateScheduleKind::wsd,
                    LearningRateScheduleKind::wsd_cosine}) {
    CHECK(make(kind).at(1) == Approx(0.1));
    CHECK(make(kind).at(5) == Approx(0.5));
    CHECK(make(kind).at(10) == Approx(1.0));
  }
}

TEST_CASE("cosine is half way at half the steps and ends at the minimum") {
  const LearningRateSchedule s = make(LearningRateScheduleKind::cosine);
  CHECK(s.at(60) == Approx(0.55));
  CHECK(s.at(35) == Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))));
  CHECK(s.at(110) == Approx(0.1));
}

TEST_CASE("linear falls evenly") {
  const LearningRateSchedule s = make(LearningRateScheduleKind::linear);
  CHECK(s.at(60) == Approx(0.55));
  CHECK(s.at(85) == Approx(0.325));
  CHECK(s.at(110) == Approx(0.1));
}

TEST_CASE("constant stays") {
  CHECK(make(LearningRateScheduleKind::constant).at(110) == 1.0);
}

TEST_CASE("warm-up, stable, decay falls over its last steps only") {
  const LearningRateSchedule s = make(LearningRateScheduleKind::wsd);
  CHECK(s.at(90) == 1.0);
  CHECK(s.at(100) == Approx(0.55));
  CHECK(s.at(110) == Approx(0.1));
}

TEST_CASE("warm-up, stable, decay by half a cosine falls over its last steps only") {
  const LearningRateSchedule s = make(LearningRateScheduleKind::wsd_cosine);
  CHECK(s.at(11) == 1.0);
  CHECK(s.at(90) == 1.0);
  CHECK(s.at(95) == Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))));
  CHECK(s.at(100) == Approx(0.55));
  CHECK(s.at(110) == Approx(0.1));
  CHECK(s.at(1000) == Approx(0.1));
}

TEST_CASE("past its last step a schedule stays where it ended") {
  CHECK(make(LearningRateScheduleKind::cosine).at(1000) == Approx(0.1));
  CHECK(make(LearningRateScheduleKind::linear).at(1000) == Approx(0.1));
}

TEST_CASE("without warm-up the first step has the full rate") {
  LearningRateSchedule s = make(LearningRateScheduleKind::constant);
  s.warmup_steps = 0;
  CHECK(s.at(1) == 1.0);
}

TEST_CASE("each kind has one name, read and printed") {
  for (const std::string& name : names_of<LearningRateScheduleKind>())
    CHECK(name_of(parse_name<LearningRateScheduleKind>(name).value()) == name);
  CHECK(!parse_name<LearningRateScheduleKind>("cosin"));
}
