#pragma once
// Compares a resume's learning-rate schedule with the run's.

#include <cstdint>
#include <string>

#include "optim/learning_rate_schedule.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Returns the options that change the learning rate of a step after `step`, with their changes:
/// "--lr (lr 0.001 → 0.002, min_lr 0.0001 → 0.0002)". Returns "" if every rate is unchanged. `then`
/// is a manifest's schedule. Members that it lacks are unknown.
std::string describe_schedule_change(const std::string& then, const optim::LearningRateSchedule& now,
                                     const plan::Settings& settings, std::int64_t step);

}  // namespace dt::train
