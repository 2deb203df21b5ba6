#include "optim/learning_rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "base/error.hpp"

namespace dt::optim {

namespace {

/// Return the rate after a part of the fall from `from` to `to`. `progress` is in [0, 1].
double half_cosine(double from, double to, double progress) {
  return to + 0.5 * (from - to) * (1 + std::cos(std::numbers::pi * progress));
}
double line(double from, double to, double progress) {
  return from + (to - from) * progress;
}

/// The shape of a schedule after its warm-up.
struct Shape {
  LearningRateScheduleKind kind;
  double (*fall)(double from, double to, double progress);  // nullptr: none
  bool falls_last = false;
};

constexpr Shape shapes[] = {
    {LearningRateScheduleKind::cosine, half_cosine},
    {LearningRateScheduleKind::linear, line},
    {LearningRateScheduleKind::constant, nullptr},
    {LearningRateScheduleKind::wsd, line, /*falls_last=*/true},
    {LearningRateScheduleKind::wsd_cosine, half_cosine, /*falls_last=*/true},
};

const Shape& shape_of(LearningRateScheduleKind kind) {
  const auto* const found = std::ranges::find(shapes, kind, &Shape::kind);
  DT_CHECK(found != std::end(shapes), "the schedule {} has no shape", name_of(kind));
  return *found;
}

}  // namespace

bool falls(LearningRateScheduleKind kind) {
  return shape_of(kind).fall != nullptr;
}

bool falls_last(LearningRateScheduleKind kind) {
  return shape_of(kind).falls_last;
}

double LearningRateSchedule::at(std::int64_t step) const {
  if (step <= warmup_steps) return lr * static_cast<double>(step) / static_cast<double>(warmup_steps);
  const Shape& shape = shape_of(kind);
  if (shape.fall == nullptr) return lr;
  const std::int64_t start = shape.falls_last ? total_steps - decay_steps : warmup_steps;
  const std::int64_t length = std::max<std::int64_t>(total_steps - start, 1);
  const double progress = static_cast<double>(step - start) / static_cast<double>(length);
  return shape.fall(lr, min_lr, std::clamp(progress, 0.0, 1.0));
}

}  // namespace dt::optim
