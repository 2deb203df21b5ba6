#pragma once
// What every call of CUDA's, and of its libraries, goes through.

#include <cuda_runtime.h>
#include <string>

#include "tensor/device.hpp"

namespace dt::cuda {

/// Errors: environment, naming the host, the GPU, what was being done and what CUDA says; and, where the GPU
/// or a kernel has failed, what to look at. Such an error is told to whatever call comes next, too.
void check(Device device, const char* doing, cudaError_t error);

/// The same of what a library says has failed; of the GPU's failure, where that is beneath it.
[[noreturn]] void fail(Device device, const char* doing, const std::string& said);

/// For the calls of this thread that follow. What names no device goes to the one that was selected last, so
/// that no other is opened for it. `doing` is what errors name.
void select(Device device, const char* doing = "opening");
Device selected();

}  // namespace dt::cuda
