#pragma once
// Conditions, other than settings, that bit-equality of two runs depends on.

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace dt::train {

/// Returns a JSON object: threads for each rank, batches, the optimizer's constants, instruction
/// set, the program's digest, and more. `gpu_products` are the algorithms of GPUs' matrix products,
/// once they are known.
std::string describe_conditions(const plan::Plan& plan, const std::vector<std::string>& gpu_products = {});

/// Returns the learning-rate schedule as a JSON object.
std::string describe_schedule(const optim::LearningRateSchedule& schedule);

/// Returns "threads 2 → 1" and so on for each member of such objects that differs. A member that
/// only one of them has does not count.
std::vector<std::string> condition_differences(const std::string& then, const std::string& now);

}  // namespace dt::train
