#pragma once
// By which algorithms GPUs multiply: what bits depend on beside versions and settings.

#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace dt::train {

/// Called by all ranks together: those that any of them has taken so far, sorted (see
/// kernels::product_algorithms). Of ranks that compute on GPUs.
std::vector<std::string> gpu_products(comm::Communicator& ranks);

}  // namespace dt::train
