#pragma once
// What bit-equality of two runs depends on beside their settings.

#include <string>
#include <vector>

#include "train/plan.hpp"

namespace dt::train {

/// A JSON object: threads a rank, instruction set, build.
std::string describe_conditions(const Plan& plan);

/// "threads 2 → 1", ... for each member that differs.
std::vector<std::string> condition_differences(const std::string& then, const std::string& now);

}  // namespace dt::train
