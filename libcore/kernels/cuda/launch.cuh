#pragma once
// Kernels on a GPU's stream: what nvcc sees.

#include <cstddef>
#include <cuda_runtime.h>
#include <utility>

#include "kernels/cuda/grid.hpp"
#include "tensor/context.hpp"
#include "tensor/cuda/check.cuh"

namespace dt::kernels::cuda {

/// The block's shared memory, as many bytes as its grid says, aligned to 16.
__device__ inline std::byte* shared_bytes() {
  extern __shared__ __align__(16) std::byte shared[];
  return shared;
}

/// Makes the context's GPU that of this thread, which may be one of several ranks. Errors: environment.
inline void use_gpu_of(const Context& context, const char* what) {
  dt::cuda::select(context.device(), what);
}

/// Enqueues it. Errors: environment, naming the GPU and the kernel, where it is not taken: also for what a
/// kernel before it has done. What it does wrong itself shows where somebody waits.
template <class... Parameters, class... Arguments>
void launch(const Context& context, const char* name, Grid grid, void (*kernel)(Parameters...),
            Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.blocks, grid.blocks_y);
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = reinterpret_cast<cudaStream_t>(context.stream());
  use_gpu_of(context, name);
  dt::cuda::check(context.device(), name,
                  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

}  // namespace dt::kernels::cuda
