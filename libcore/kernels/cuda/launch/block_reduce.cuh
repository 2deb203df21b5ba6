#pragma once
// Combines values over the threads of a block, always in the same tree.

#include "kernels/cuda/launch/code.cuh"

namespace dt::kernels::cuda {

/// Returns the values of the warp's lanes, combined by combine(a, b), to all lanes.
template <class T, class Combine>
__device__ T warp_combined(T value, const Combine& combine) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, lanes));
  return value;
}

/// Does the same over the threads of the block, which are whole warps. May be called again at once.
template <class T, class Combine>
__device__ T block_combined(T value, const Combine& combine) {
  T* const of_warps = reinterpret_cast<T*>(shared_bytes());
  value = warp_combined(value, combine);
  if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = value;
  __syncthreads();
  T whole = of_warps[0];
  for (unsigned warp = 1; warp < blockDim.x / warp_size; ++warp) whole = combine(whole, of_warps[warp]);
  __syncthreads();
  return whole;
}

template <class T>
__device__ T warp_sum(T value) {
  return warp_combined(value, [](T a, T b) { return a + b; });
}
/// Returns the largest value of the warp's lanes, ignoring NaNs.
template <class T>
__device__ T warp_max(T value) {
  return warp_combined(value, [](T a, T b) { return fmax(a, b); });
}
template <class T>
__device__ T warp_min(T value) {
  return warp_combined(value, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
__device__ T block_sum(T value) {
  return block_combined(value, [](T a, T b) { return a + b; });
}
template <class T>
__device__ T block_max(T value) {
  return block_combined(value, [](T a, T b) { return a > b ? a : b; });
}

}  // namespace dt::kernels::cuda
