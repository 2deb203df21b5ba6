#pragma once
// Learning rate as a function of the step.

#include <cstdint>

#include "base/text/enum_names.hpp"

namespace dt::optim {

enum class LearningRateScheduleKind { cosine, linear, constant, wsd, wsd_cosine };
constexpr auto enum_names(LearningRateScheduleKind) {
  using enum LearningRateScheduleKind;
  return std::to_array<EnumName<LearningRateScheduleKind>>({{"cosine", cosine},
                                                            {"linear", linear},
                                                            {"constant", constant},
                                                            {"wsd", wsd},
                                                            {"wsd-cosine", wsd_cosine}});
}

/// The shape of a fall from one rate to another.
enum class DecayShape { linear, cosine, one_minus_sqrt, exponential };
constexpr auto enum_names(DecayShape) {
  using enum DecayShape;
  return std::to_array<EnumName<DecayShape>>(
      {{"linear", linear}, {"cosine", cosine}, {"1-sqrt", one_minus_sqrt}, {"exponential", exponential}});
}

/// Returns whether the rate falls at all.
bool falls(LearningRateScheduleKind kind);
/// Returns whether the rate is constant between the warm-up and the last decay_steps.
bool falls_last(LearningRateScheduleKind kind);
/// Returns whether the rate falls from the warm-up on, so that its end may be constant.
bool falls_first(LearningRateScheduleKind kind);
/// Returns whether `LearningRateSchedule::decay_shape` chooses the fall.
bool takes_decay_shape(LearningRateScheduleKind kind);

/// Returns the rate after a part of the fall from `from` to `to`. With `p`, the part, in [0, 1]:
///
/// linear: from + (to − from) · p.
/// cosine: to + (from − to) · (1 + cos πp) / 2.
/// one_minus_sqrt: to + (from − to) · (1 − √p).
/// exponential: from · (to / from)ᵖ. `to` must be above 0.
///
/// Source: Loshchilov & Hutter 2017, eq. 5 (cosine); Hägele et al. 2024, section 3 (one_minus_sqrt); Hu
/// et al. 2024, section 4.1 (exponential; its rate halves every T steps, and here T is such that the
/// fall ends at `to`).
double rate_in_fall(DecayShape shape, double from, double to, double p);

struct LearningRateSchedule {
  LearningRateScheduleKind kind = LearningRateScheduleKind::cosine;
  double lr = 3e-4;
  double min_lr = 3e-5;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // if falls_last(kind): length of the fall to min_lr
  std::int64_t total_steps = 1;
  DecayShape decay_shape = DecayShape::linear;  // if takes_decay_shape(kind)
  std::int64_t final_steps = 0;                 // if falls_first(kind): steps at min_lr at the end

  /// Returns the learning rate of step n, counted from 1. The warm-up is linear, from lr/warmup to
  /// lr. After it, the rate falls to min_lr at total_steps − final_steps by half a cosine or linearly,
  /// or is constant. wsd (warm-up, stable, decay) is constant, then falls over the last decay_steps in
  /// its decay_shape, wsd-cosine by half a cosine. Past its end, the fall stays at min_lr.
  /// Source: Loshchilov & Hutter 2017, section 3 (cosine); Hu et al. 2024, section 4 (wsd); Hägele et
  /// al. 2024, section 3 (shapes of the decay).
  double at(std::int64_t step) const;
};

}  // namespace dt::optim
