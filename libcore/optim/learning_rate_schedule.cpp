#include "optim/learning_rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>

#include "base/error.hpp"

namespace dt::optim {

namespace {

double half_cosine(double from, double to, double p) {
  return to + 0.5 * (from - to) * (1 + std::cos(std::numbers::pi * p));
}
double line(double from, double to, double p) {
  return from + (to - from) * p;
}
double one_minus_root(double from, double to, double p) {
  return to + (from - to) * (1 - std::sqrt(p));
}
double power(double from, double to, double p) {
  return from * std::pow(to / from, p);
}

struct Fall {
  DecayShape shape;
  double (*rate)(double from, double to, double p);
};

constexpr Fall falls_by_shape[] = {{DecayShape::linear, line},
                                   {DecayShape::cosine, half_cosine},
                                   {DecayShape::one_minus_sqrt, one_minus_root},
                                   {DecayShape::exponential, power}};

enum class FallBegins { never, after_warmup, in_last_steps };

/// The course of a schedule after its warm-up.
struct Shape {
  LearningRateScheduleKind kind;
  FallBegins begins;
  std::optional<DecayShape> fall = {};  // none: decay_shape
};

constexpr Shape shapes[] = {
    {LearningRateScheduleKind::cosine, FallBegins::after_warmup, DecayShape::cosine},
    {LearningRateScheduleKind::linear, FallBegins::after_warmup, DecayShape::linear},
    {LearningRateScheduleKind::constant, FallBegins::never},
    {LearningRateScheduleKind::wsd, FallBegins::in_last_steps},
    {LearningRateScheduleKind::wsd_cosine, FallBegins::in_last_steps, DecayShape::cosine},
};

const Shape& shape_of(LearningRateScheduleKind kind) {
  const auto* const found = std::ranges::find(shapes, kind, &Shape::kind);
  DT_CHECK(found != std::end(shapes), "the schedule {} has no shape", name_of(kind));
  return *found;
}

}  // namespace

bool falls(LearningRateScheduleKind kind) {
  return shape_of(kind).begins != FallBegins::never;
}

bool falls_last(LearningRateScheduleKind kind) {
  return shape_of(kind).begins == FallBegins::in_last_steps;
}

bool falls_first(LearningRateScheduleKind kind) {
  return shape_of(kind).begins == FallBegins::after_warmup;
}

bool takes_decay_shape(LearningRateScheduleKind kind) {
  return falls(kind) && !shape_of(kind).fall;
}

double rate_in_fall(DecayShape shape, double from, double to, double p) {
  const auto* const found = std::ranges::find(falls_by_shape, shape, &Fall::shape);
  DT_CHECK(found != std::end(falls_by_shape), "the decay shape {} has no fall", name_of(shape));
  return found->rate(from, to, p);
}

double LearningRateSchedule::at(std::int64_t step) const {
  if (step <= warmup_steps) return lr * static_cast<double>(step) / static_cast<double>(warmup_steps);
  const Shape& shape = shape_of(kind);
  if (shape.begins == FallBegins::never) return lr;
  const bool is_last = shape.begins == FallBegins::in_last_steps;
  const std::int64_t start = is_last ? total_steps - decay_steps : warmup_steps;
  const std::int64_t end = is_last ? total_steps : total_steps - final_steps;
  const std::int64_t length = std::max<std::int64_t>(end - start, 1);
  const double progress = static_cast<double>(step - start) / static_cast<double>(length);
  return rate_in_fall(shape.fall.value_or(decay_shape), lr, min_lr, std::clamp(progress, 0.0, 1.0));
}

}  // namespace dt::optim
