#pragma once
// Checks every call of CUDA's, and of its libraries.

#include <cuda_runtime.h>
#include <string>

#include "tensor/device.hpp"

namespace dt::cuda {

/// Throws if a call failed. CUDA tells such an error to later calls, too.
/// Errors: environment, naming the host, the GPU, what was being done and what CUDA says. If the GPU or
/// a kernel has failed, also what to look at.
void check(Device device, const char* doing, cudaError_t error);

/// Throws the same for a failure that a library tells of. If the GPU's failure is beneath it, throws
/// that.
[[noreturn]] void fail(Device device, const char* doing, const std::string& said);

/// Selects the device of the calls of this thread that follow. A call that names no device goes to the
/// one that was selected last, so no other device is opened for it. `doing` is what errors name.
void select(Device device, const char* doing = "opening");
Device selected();

}  // namespace dt::cuda
