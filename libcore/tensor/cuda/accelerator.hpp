#pragma once
// Drives NVIDIA's GPUs.

#include "tensor/device/accelerator.hpp"

namespace dt::cuda {

/// Returns the accelerator that uses the CUDA runtime linked into this program. Its streams are
/// CUDA's. Does not call the driver.
/// Errors: those of the accelerator's functions name the host and the GPU, and say if the GPU has
/// failed.
Accelerator& accelerator();

}  // namespace dt::cuda
