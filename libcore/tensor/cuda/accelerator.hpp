#pragma once
// Drives NVIDIA's GPUs, and names the host's activity for NVIDIA's profilers.

#include <string>

#include "tensor/device/accelerator.hpp"

namespace dt::cuda {

/// Returns whether a profiler that shows NVTX ranges (Nsight Systems) was attached at the first call. Without
/// one, ranges cost next to nothing.
bool profiler_attached();
/// See Accelerator::begin_range.
void begin_range(const std::string& name);
void end_range();

/// Returns the accelerator that uses the CUDA runtime linked into this program. Its streams are
/// CUDA's. Does not call the driver.
/// Errors: those of the accelerator's functions name the host and the GPU, and say if the GPU has
/// failed.
Accelerator& accelerator();

}  // namespace dt::cuda
