#pragma once
// Sums over the threads of a block, always in the same tree.

#include "kernels/cuda/code.cuh"

namespace dt::kernels::cuda {

inline constexpr int warp_size = 32;

/// As many blocks as there are sums of `T`, with the memory that block_sum takes.
template <class T>
Grid grid_for_sums(unsigned sums) {
  return {.blocks = sums,
          .threads = threads_per_block,
          .shared_bytes = threads_per_block / warp_size * sizeof(T)};
}

/// All lanes of the warp get it.
template <class T>
__device__ T warp_sum(T value) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, lanes);
  return value;
}

/// The largest that is a number; all lanes of the warp get it.
template <class T>
__device__ T warp_max(T value) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2)
    value = fmax(value, __shfl_xor_sync(0xFFFFFFFFU, value, lanes));
  return value;
}

/// All threads of the block, which has threads_per_block, get it. May be called again at once.
template <class T>
__device__ T block_sum(T value) {
  T* const of_warps = reinterpret_cast<T*>(shared_bytes());
  value = warp_sum(value);
  if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = value;
  __syncthreads();
  T sum = of_warps[0];
  for (unsigned warp = 1; warp < threads_per_block / warp_size; ++warp) sum += of_warps[warp];
  __syncthreads();
  return sum;
}

}  // namespace dt::kernels::cuda
