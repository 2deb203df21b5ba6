#pragma once
// Loads kernels before they are needed.

#include <cstddef>

#include "tensor/device/device.hpp"

namespace dt::cuda {

/// Returns how many kernels nvcc has compiled into the program.
std::size_t num_kernels();

/// Loads all these kernels onto the device. By default (CUDA_MODULE_LOADING) CUDA loads a kernel at
/// its first launch. That load may wait for all work on the device, even for a receive whose sender
/// waits for this rank. EAGER would also load every library's kernels, which are hundreds of MiB.
/// Errors: environment, also if the program has no code for such a GPU.
/// Source: CUDA C++ Programming Guide, Lazy Loading, "Concurrent Execution".
void load_kernels(Device device);

}  // namespace dt::cuda
