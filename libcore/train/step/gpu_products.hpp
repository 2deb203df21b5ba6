#pragma once
// The algorithms that GPU libraries chose for products, and the attention problems that they
// declined. Bits depend on these algorithms, and not only on versions and settings.

#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace dt::train {

/// Returns the algorithms that any rank has used so far, sorted (see kernels::matmul_algorithms).
/// Only for ranks that compute on GPUs.
/// Collective: all ranks.
std::vector<std::string> matmul_algorithms_used(comm::Communicator& ranks);

/// Returns what kernels::attention_fallbacks returns on any rank, sorted.
/// Collective: all ranks.
std::vector<std::string> attention_fallbacks_used(comm::Communicator& ranks);

}  // namespace dt::train
