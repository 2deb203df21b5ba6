#pragma once
// What GPUs' libraries did for a run: by which algorithms they multiply, which bits depend on beside versions
// and settings; and what they have no kernel for.

#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace dt::train {

/// Called by all ranks together: those that any of them has taken so far, sorted (see
/// kernels::product_algorithms). Of ranks that compute on GPUs.
std::vector<std::string> gpu_products(comm::Communicator& ranks);

/// Called by all ranks together: what kernels::attention_declines says on any of them, sorted.
std::vector<std::string> gpu_attention_declines(comm::Communicator& ranks);

}  // namespace dt::train
