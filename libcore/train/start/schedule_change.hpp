#pragma once
// Compares a resume's learning-rate schedule with the run's.

#include <cstdint>
#include <string>

#include "optim/learning_rate_schedule.hpp"
#include "plan/plan.hpp"

namespace dt::train {

/// Returns the learning-rate schedule as a JSON object.
std::string describe_schedule(const optim::LearningRateSchedule& schedule);

/// Returns the options that change the learning rate of a step after `step`, with their changes:
/// "--lr (lr 0.001 → 0.002, min_lr 0.0001 → 0.0002)". Returns "" if every rate is unchanged. `then`
/// is a manifest's schedule, and `plan` has the schedule that follows. Members that `then` lacks are
/// unknown.
std::string describe_schedule_change(const std::string& then, const plan::Plan& plan, std::int64_t step);

}  // namespace dt::train
