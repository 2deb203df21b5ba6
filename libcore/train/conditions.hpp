#pragma once
// What bit-equality of two runs depends on beside their settings.

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace dt::train {

/// A JSON object: threads a rank, batches, the optimizer's constants, instruction set, the program's digest,
/// …; and, once they are known, by which algorithms GPUs multiply.
std::string describe_conditions(const plan::Plan& plan, const std::vector<std::string>& gpu_products = {});

/// The learning rate's way, as a JSON object.
std::string describe_schedule(const optim::Schedule& schedule);

/// "threads 2 → 1", ... for each member of such objects that differs; of those that only one has, nothing is
/// known.
std::vector<std::string> condition_differences(const std::string& then, const std::string& now);

}  // namespace dt::train
