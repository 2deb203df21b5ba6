#pragma once
// Launches kernels on a GPU's stream, as nvcc compiles them.

#include <cstddef>
#include <cuda_runtime.h>
#include <tuple>

#include "kernels/cuda/grid.hpp"
#include "kernels/cuda/keys.hpp"
#include "kernels/cuda/on_stream.hpp"

namespace dt::kernels::cuda {

/// Returns the block's shared memory, as many bytes as its grid says, aligned to 16.
__device__ inline std::byte* shared_bytes() {
  extern __shared__ __align__(16) std::byte shared[];
  return shared;
}

/// Gives a kernel to the context's stream.
/// Errors: environment, when the kernel is enqueued, naming the GPU and the kernel: the launch is
/// refused, also for what an earlier kernel has done. What the kernel does wrong itself shows at a
/// later wait.
template <class... Parameters, class... Arguments>
void launch(const Context& context, const char* name, Grid grid, void (*kernel)(Parameters...),
            Arguments... arguments) {
  const std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...);
  const auto enqueue = [name, grid, kernel, values, at = OnStream(context)] {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.blocks, grid.blocks_y);
    config.blockDim = dim3(grid.threads);
    config.dynamicSmemBytes = grid.shared_bytes;
    config.stream = at.native();
    at.use(name);
    std::apply(
        [&](const Parameters&... value) {
          dt::cuda::check(at.device, name, cudaLaunchKernelEx(&config, kernel, value...));
        },
        values);
  };
  accelerator().give(context.stream(), key_of(grid, kernel, values), enqueue);
}

}  // namespace dt::kernels::cuda
