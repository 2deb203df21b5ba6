#pragma once
// NVIDIA's GPUs.

#include "tensor/accelerator.hpp"

namespace dt::cuda {

/// By the CUDA runtime, which this program carries. Nothing is asked of a driver before somebody asks this.
/// Its streams are CUDA's. Errors name the host and the GPU; those of a GPU that has failed say so.
Accelerator& accelerator();

}  // namespace dt::cuda
