#pragma once
// Learning rate as a function of the step.

#include <cstdint>
#include <string>

namespace dt::optim {

enum class ScheduleKind { cosine, linear, constant, wsd };
ScheduleKind parse_schedule(const std::string& name);

struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double lr = 3e-4;
  double min_lr = 3e-5;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // of wsd: the last steps, falling to min_lr
  std::int64_t total_steps = 1;

  /// Of step n, counted from 1. Linear from lr/warmup to lr over the warm-up; then to min_lr at total_steps
  /// by half a cosine (Loshchilov & Hutter 2017, eq. 5) or a line; constant; or constant and a line at the
  /// end (warm-up, stable, decay: Hu et al. 2024, section 4). Past total_steps it stays.
  double at(std::int64_t step) const;
};

}  // namespace dt::optim
