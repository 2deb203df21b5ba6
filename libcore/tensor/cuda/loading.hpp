#pragma once
// Kernels that are loaded before they are needed.

#include <cstddef>

#include "tensor/device.hpp"

namespace dt::cuda {

/// How many kernels nvcc has compiled into the program.
std::size_t num_kernels();

/// Loads all of them onto the device. CUDA loads a kernel with its first launch, unless told otherwise
/// (CUDA_MODULE_LOADING), and may wait for all that the device was given, also for a receive whose sender
/// waits for this rank. EAGER would load every library's kernels as well, which are hundreds of MiB.
/// Source: CUDA C++ Programming Guide, Lazy Loading, "Concurrent Execution". Errors: environment, also where
/// the program has no code for such a GPU.
void load_kernels(Device device);

}  // namespace dt::cuda
