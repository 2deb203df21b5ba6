#pragma once
// Checks the results of calls of CUDA and its libraries.

#include <cuda_runtime.h>
#include <string>

#include "tensor/device/device.hpp"

namespace dt::cuda {

/// Throws if a call failed. Later calls of CUDA may report the same error.
/// Errors: environment, naming the host, the GPU, the attempted action and CUDA's message. If the
/// GPU or a kernel has failed, also what to look at.
void check(Device device, const char* doing, cudaError_t error);

/// Throws the same error for a failure that a library reports. If a failure of the GPU is its
/// cause, throws that one.
[[noreturn]] void fail(Device device, const char* doing, const std::string& said);

/// Selects the device for later calls of this thread. Calls that name no device use the one
/// selected last, and so open no other. Errors name `doing` as the attempted action.
void select(Device device, const char* doing = "opening");
Device selected();

}  // namespace dt::cuda
