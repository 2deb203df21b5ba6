#pragma once
// Conditions, other than settings, that bit-equality of two runs depends on. A resume compares them
// with its run's.

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "plan/plan.hpp"

namespace dt::train {

/// Returns a JSON object: threads for each rank, batches, the optimizer's constants, instruction
/// set, the program's digest, and more. `gpu_products` are the algorithms of GPUs' matrix products,
/// once they are known.
std::string describe_conditions(const plan::Plan& plan, const std::vector<std::string>& gpu_products = {});

/// Returns "threads 2 → 1" and so on for each member of such objects that differs. A member that
/// only one of them has does not count.
std::vector<std::string> condition_differences(const std::string& then, const std::string& now);

/// Returns the algorithms that any rank has used so far, sorted (see kernels::matmul_algorithms).
/// Bits depend on these algorithms, and not only on versions and settings. Call it only if ranks compute on
/// GPUs.
/// Collective: all ranks.
std::vector<std::string> matmul_algorithms_used(comm::Communicator& ranks);

/// Returns what kernels::attention_fallbacks returns on any rank, sorted.
/// Collective: all ranks.
std::vector<std::string> attention_fallbacks_used(comm::Communicator& ranks);

}  // namespace dt::train
