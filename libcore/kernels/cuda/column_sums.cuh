#pragma once
// Sums over the rows of a matrix, as the gradients of weights and biases are, always in the same tree: a
// warp's lanes are columns and a block's warps rows, of a run of rows that the number of rows alone decides;
// the runs' sums are then summed the same way. No atomics: they would add in any order.

#include "kernels/cuda/runs.hpp"
#include "kernels/cuda/sums.cuh"

namespace dt::kernels::cuda {

/// Blocks of columns by runs, with the memory that sum_over_warps takes.
template <class T>
Grid grid_for_columns(std::int64_t C, std::int64_t runs) {
  return {.blocks = static_cast<unsigned>(std::max<std::int64_t>(1, (C + warp_size - 1) / warp_size)),
          .blocks_y = static_cast<unsigned>(runs),
          .threads = threads_per_block,
          .shared_bytes = threads_per_block * sizeof(T)};
}

/// This thread's, and the first of its rows in a run.
__device__ inline std::int64_t own_column() {
  return static_cast<std::int64_t>(blockIdx.x) * warp_size + threadIdx.x % warp_size;
}
__device__ inline std::int64_t own_row() {
  return threadIdx.x / warp_size;
}

/// Over the threads of a block that have this thread's column; all of them get it. May be called again at
/// once.
template <class T>
__device__ T sum_over_warps(T value) {
  T* const values = reinterpret_cast<T*>(shared_bytes());
  values[threadIdx.x] = value;
  __syncthreads();
  T sum = values[threadIdx.x % warp_size];
  for (int warp = 1; warp < warps_per_block; ++warp)
    sum += values[warp * warp_size + threadIdx.x % warp_size];
  __syncthreads();
  return sum;
}

template <class G>
__global__ void add_run_sums(const Value<G>* sums, std::int64_t runs, std::int64_t C, G* gradient) {
  const std::int64_t c = own_column();
  Value<G> sum = 0;
  if (c < C) {
    for (std::int64_t run = own_row(); run < runs; run += warps_per_block) sum += sums[run * C + c];
  }
  sum = sum_over_warps(sum);
  if (own_row() == 0 && c < C) gradient[c] = G(load(gradient + c) + sum);
}

/// gradient += the sum of the runs' sums, which are fp64 beside fp64, else fp32. It may be absent.
inline void add_sums_of_runs(const Context& context, const char* name, const Tensor& sums_NC,
                             const Tensor& gradient_C) {
  if (!gradient_C) return;
  const std::int64_t runs = sums_NC.dim(0), C = sums_NC.dim(1);
  with_elements(gradient_C.dtype(), [&](auto element) {
    using G = decltype(element);
    launch(context, name, grid_for_columns<Value<G>>(C, 1), add_run_sums<G>, sums_NC.data<Value<G>>(), runs,
           C, gradient_C.data<G>());
  });
}

}  // namespace dt::kernels::cuda
