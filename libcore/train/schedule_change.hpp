#pragma once
// Whether a resume's learning rate goes another way than the run's did.

#include <cstdint>
#include <string>

#include "optim/schedule.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Returns the options that change the learning rate of a step after `step`, with what they change: "--lr (lr
/// 0.001 → 0.002, min_lr 0.0001 → 0.0002)"; "" where every rate is as it was. `then` is a manifest's
/// schedule; of members that it lacks, nothing is known.
std::string schedule_change(const std::string& then, const optim::Schedule& now,
                            const plan::Settings& settings, std::int64_t step);

}  // namespace dt::train
