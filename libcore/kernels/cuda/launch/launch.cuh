#pragma once
// Launches kernels on a GPU's stream, as nvcc compiles them.

#include <cstddef>
#include <cuda_runtime.h>
#include <tuple>

#include "kernels/cuda/launch/device_stream.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/cuda/launch/kernel_key.hpp"

namespace dt::kernels::cuda {

/// Returns the block's shared memory, as many bytes as its grid says, aligned to 16.
__device__ inline std::byte* shared_bytes() {
  extern __shared__ __align__(16) std::byte shared[];
  return shared;
}

/// Enqueues a kernel on the context's stream.
/// Errors: environment, naming the GPU and the kernel, CUDA refuses the launch, perhaps because of
/// an earlier kernel's error. If work is deferred, the error comes when the kernel is enqueued. The
/// kernel's own errors show at a later wait.
template <class... Parameters, class... Arguments>
void launch(const Context& context, const char* name, Grid grid, void (*kernel)(Parameters...),
            Arguments... arguments) {
  const std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...);
  const auto enqueue = [name, grid, kernel, values, at = DeviceStream(context)] {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.blocks, grid.blocks_y);
    config.blockDim = dim3(grid.threads);
    config.dynamicSmemBytes = grid.shared_bytes;
    config.stream = at.native();
    at.select_device(name);
    std::apply(
        [&](const Parameters&... value) {
          dt::cuda::check(at.device, name, cudaLaunchKernelEx(&config, kernel, value...));
        },
        values);
  };
  accelerator().submit(context.stream(), key_of(grid, kernel, values), enqueue);
}

}  // namespace dt::kernels::cuda
