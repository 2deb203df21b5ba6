#pragma once
// What every call of CUDA's goes through.

#include <cuda_runtime.h>

#include "tensor/device.hpp"

namespace dt::cuda {

/// Errors: environment, naming the host, the GPU, what was being done and what CUDA says.
void check(Device device, const char* doing, cudaError_t error);

/// For the calls of this thread that follow. What names no device goes to the one that was selected last, so
/// that no other is opened for it.
void select(Device device);
Device selected();

}  // namespace dt::cuda
