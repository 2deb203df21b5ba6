#include "optim/learning_rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dt::optim {

double LearningRateSchedule::at(std::int64_t step) const {
  if (step <= warmup_steps) return lr * static_cast<double>(step) / static_cast<double>(warmup_steps);
  const std::int64_t decay_start =
      kind == LearningRateScheduleKind::wsd ? total_steps - decay_steps : warmup_steps;
  const std::int64_t decay_length = std::max<std::int64_t>(total_steps - decay_start, 1);
  const double progress =
      std::clamp(static_cast<double>(step - decay_start) / static_cast<double>(decay_length), 0.0, 1.0);
  switch (kind) {
    case LearningRateScheduleKind::constant:
      return lr;
    case LearningRateScheduleKind::cosine:
      return min_lr + 0.5 * (lr - min_lr) * (1 + std::cos(std::numbers::pi * progress));
    case LearningRateScheduleKind::linear:
    case LearningRateScheduleKind::wsd:
      return lr + (min_lr - lr) * progress;
  }
  return lr;
}

}  // namespace dt::optim
