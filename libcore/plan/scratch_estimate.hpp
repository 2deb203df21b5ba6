#pragma once
// The scratch memory that a rank's kernels and units work in.

#include <memory>
#include <vector>

#include "model/unit.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Bytes at the most, while any unit of `held` (numbers of `units`) trains on a micro-batch.
std::size_t scratch_bytes(const Plan& plan, const std::vector<std::unique_ptr<model::Unit>>& units,
                          const std::vector<int>& held);

}  // namespace dt::plan
