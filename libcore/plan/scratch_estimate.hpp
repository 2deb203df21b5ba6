#pragma once
// The scratch memory that a rank's kernels and units work in.

#include <memory>
#include <vector>

#include "model/unit.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the most bytes of units, and on CPUs of kernels, while any unit of `held` (numbers of `units`)
/// trains on a micro-batch.
std::size_t scratch_bytes(const Plan& plan, const std::vector<std::unique_ptr<model::Unit>>& units,
                          const std::vector<int>& held);

/// Returns the most bytes of a GPU's memory that one kernel takes beside what its unit has: a workspace of
/// cuBLASLt's or cuDNN's, or of dt's own kernels. On CPUs 0.
std::size_t workspace_bytes(const Plan& plan);

}  // namespace dt::plan
