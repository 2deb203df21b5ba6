#include "optim/learning_rate_schedule.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"

using namespace dt;
using optim::DecayShape;
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

TEST_CASE("the decay at the end has the shape that is asked for") {
  // Rates after a quarter of a fall from 1 to 0.1. Falls begin at `from`, and end at `to`.
  const std::vector<std::pair<DecayShape, double>> quarters{
      {DecayShape::linear, 0.775},
      {DecayShape::cosine, 0.1 + 0.45 * (1 + std::sqrt(0.5))},
      {DecayShape::one_minus_sqrt, 0.55},
      {DecayShape::exponential, std::pow(10, -0.25)}};
  for (const auto& [shape, quarter] : quarters) {
    CAPTURE(name_of(shape));
    LearningRateSchedule s = make(LearningRateScheduleKind::wsd);
    s.decay_shape = shape;
    CHECK(s.at(90) == 1.0);
    CHECK(s.at(95) == Approx(quarter));
    CHECK(s.at(110) == Approx(0.1));
    CHECK(s.at(1000) == Approx(0.1));
    for (std::int64_t step = 91; step <= 110; ++step) CHECK(s.at(step) < s.at(step - 1));
    LearningRateSchedule other = make(LearningRateScheduleKind::wsd_cosine);
    other.decay_shape = shape;  // takes none
    LearningRateSchedule cosine = s;
    cosine.decay_shape = DecayShape::cosine;
    CHECK(other.at(97) == cosine.at(97));
  }
  CHECK(quarters.size() == names_of<DecayShape>().size());
}

TEST_CASE("final steps stay at the minimum, which the fall reaches before them") {
  LearningRateSchedule s = make(LearningRateScheduleKind::cosine);
  s.final_steps = 40;
  CHECK(s.at(40) == Approx(0.55));
  CHECK(s.at(69) > 0.1 + 1e-6);
  for (const std::int64_t step : {70, 71, 110, 1000}) CHECK(s.at(step) == Approx(0.1));
  s.kind = LearningRateScheduleKind::linear;
  CHECK(s.at(55) == Approx(0.325));
  s.final_steps = 100;  // the warm-up is all else
  CHECK(s.at(10) == 1.0);
  CHECK(s.at(11) == Approx(0.1));
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
