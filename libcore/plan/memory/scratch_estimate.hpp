#pragma once
// Estimates the scratch memory that a rank's kernels and units work in.

#include <memory>
#include <vector>

#include "model/units/unit.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the most scratch bytes of units, and on CPUs of kernels, while any unit of `own_units` (numbers
/// of `units`) trains on a micro-batch.
std::size_t scratch_bytes(const Plan& plan, const std::vector<std::unique_ptr<model::Unit>>& units,
                          const std::vector<int>& own_units);

/// Returns the most bytes of a GPU's memory that one kernel takes in addition to its unit's
/// scratch: a workspace of cuBLASLt, cuDNN or dt's own kernels. Returns 0 on CPUs.
std::size_t workspace_bytes(const Plan& plan);

}  // namespace dt::plan
