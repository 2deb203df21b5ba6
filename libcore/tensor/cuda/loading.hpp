#pragma once
// Loads kernels before they are needed.

#include <cstddef>

#include "tensor/device.hpp"

namespace dt::cuda {

/// Returns how many kernels nvcc has compiled into the program.
std::size_t num_kernels();

/// Loads all these kernels onto the device. CUDA loads a kernel with its first launch, unless told otherwise
/// (CUDA_MODULE_LOADING). That load may wait for all that the device was given, also for a receive
/// whose sender waits for this rank. EAGER would load every library's kernels as well, which are
/// hundreds of MiB.
/// Errors: environment, also if the program has no code for such a GPU.
/// Source: CUDA C++ Programming Guide, Lazy Loading, "Concurrent Execution".
void load_kernels(Device device);

}  // namespace dt::cuda
