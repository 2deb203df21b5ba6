#pragma once
// Sums over the rows of a matrix, as the gradients of weights and biases are, always in the same
// tree. A warp's lanes are columns, of vectors or single ones. A block's warps are rows of a run, whose
// length the matrix's shape alone decides. The runs' sums are then summed the same way. There are no
// atomics: they would add in any order.

#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/grid.hpp"

namespace dt::kernels::cuda {

__device__ inline std::int64_t own_column() {
  return static_cast<std::int64_t>(blockIdx.x) * warp_size + threadIdx.x % warp_size;
}
/// Returns the first of this thread's rows in a run.
__device__ inline std::int64_t own_row() {
  return threadIdx.x / warp_size;
}

__device__ inline int num_warps() {
  return static_cast<int>(blockDim.x) / warp_size;
}

/// Adds the runs' sums to one gradient, or to two, whose sums lie side by side in each run's sums.
/// blockIdx.y selects the gradient.
template <class G>
__global__ void add_run_sums(const Value<G>* sums, std::int64_t runs, std::int64_t C, G* first, G* second) {
  const std::int64_t c = own_column(), pitch = gridDim.y * C;
  G* const gradient = blockIdx.y == 0 ? first : second;
  const bool adds = own_row() == 0 && c < C;
  Value<G> sum = 0, before = 0;
  if (adds) before = load(gradient + c);  // loaded while the runs' sums are
  if (c < C) {
    constexpr int at_once = 4;
    for (std::int64_t run = own_row(); run < runs; run += at_once * num_warps()) {
      Value<G> added[at_once];
      for (int i = 0; i < at_once; ++i) {
        const std::int64_t own = run + i * num_warps();
        added[i] = own < runs ? sums[own * pitch + blockIdx.y * C + c] : 0;
      }
      for (const Value<G> of_run : added) sum += of_run;
    }
  }
  auto* const of_warps = reinterpret_cast<Value<G>*>(shared_bytes());
  of_warps[threadIdx.x] = sum;
  __syncthreads();
  if (!adds) return;
  for (int warp = 1; warp < num_warps(); ++warp) sum += of_warps[warp * warp_size + threadIdx.x];
  gradient[c] = rounded<G>(before + sum);
}

/// Adds the sum of the runs' sums to the gradient, and does the same for the second gradient if there
/// is one. Sums are fp64 for fp64, else fp32.
inline void add_sums_of_runs(const Context& context, const char* name, const Tensor& sums_NC,
                             const Tensor& gradient_C, const Tensor& second_C = Tensor()) {
  with_parameter_gradients(gradient_C.dtype(), [&](auto gradient) {
    using G = decltype(gradient);
    const std::int64_t C = gradient_C.numel();
    launch(context, name, grid_for_run_sums(C, second_C ? 2 : 1, sizeof(Value<G>)), add_run_sums<G>,
           sums_NC.data<Value<G>>(), sums_NC.dim(0), C, gradient_C.data<G>(), elements<G>(second_C));
  });
}

}  // namespace dt::kernels::cuda
