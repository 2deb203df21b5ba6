#pragma once
// Kernels on a GPU's stream: what nvcc sees.

#include <cstddef>
#include <cuda_runtime.h>
#include <utility>

#include "base/error.hpp"
#include "kernels/cuda/grid.hpp"
#include "tensor/context.hpp"

namespace dt::kernels::cuda {

/// The block's shared memory, as many bytes as its grid says, aligned to 16.
__device__ inline std::byte* shared_bytes() {
  extern __shared__ __align__(16) std::byte shared[];
  return shared;
}

/// Makes the context's GPU that of this thread, which may be one of several ranks. Errors: environment.
inline void use_gpu_of(const Context& context, const char* what) {
  const cudaError_t error = cudaSetDevice(context.device().index());
  if (error != cudaSuccess)
    throw Error(ErrorKind::environment,
                fmt::format("{}: {}: {}", context.device().to_string(), what, cudaGetErrorString(error)));
}

/// Enqueues it. Errors: environment, naming the kernel, where the GPU takes it not.
template <class... Parameters, class... Arguments>
void launch(const Context& context, const char* name, Grid grid, void (*kernel)(Parameters...),
            Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.blocks, grid.blocks_y);
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = reinterpret_cast<cudaStream_t>(context.stream());
  use_gpu_of(context, name);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  if (error == cudaSuccess) return;
  throw Error(ErrorKind::environment,
              fmt::format("{}: {}: {}", context.device().to_string(), name, cudaGetErrorString(error)));
}

}  // namespace dt::kernels::cuda
