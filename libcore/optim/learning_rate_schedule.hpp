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

/// Returns whether the rate falls at all.
bool falls(LearningRateScheduleKind kind);
/// Returns whether the rate is constant between the warm-up and the last decay_steps.
bool falls_last(LearningRateScheduleKind kind);

struct LearningRateSchedule {
  LearningRateScheduleKind kind = LearningRateScheduleKind::cosine;
  double lr = 3e-4;
  double min_lr = 3e-5;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // if falls_last(kind): length of the fall to min_lr
  std::int64_t total_steps = 1;

  /// Returns the learning rate of step n, counted from 1. The warm-up is linear, from lr/warmup to
  /// lr. After it, the rate falls to min_lr at total_steps by half a cosine or linearly, or is
  /// constant. wsd (warm-up, stable, decay) is constant, then falls linearly over the last
  /// decay_steps, wsd-cosine by half a cosine. Past total_steps the rate stays as it is.
  /// Source: Loshchilov & Hutter 2017, eq. 5 (cosine); Hu et al. 2024, section 4 (wsd); Hägele et al.
  /// 2024, section 3 (other falls at the end).
  double at(std::int64_t step) const;
};

}  // namespace dt::optim
