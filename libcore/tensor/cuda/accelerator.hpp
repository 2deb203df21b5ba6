#pragma once
// Drives NVIDIA's GPUs.

#include "tensor/accelerator.hpp"

namespace dt::cuda {

/// Returns the accelerator that uses the CUDA runtime, which this program carries. Its streams are
/// CUDA's. No call goes to a driver before this one.
/// Errors: name the host and the GPU; a GPU that has failed is named as such.
Accelerator& accelerator();

}  // namespace dt::cuda
