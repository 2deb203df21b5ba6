#pragma once
// Whose the rows of a norm are.

#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"

namespace dt::kernels::cuda {

/// A row is a warp's, where a block's threads would have few columns each.
struct OfWarp {
  static constexpr std::int64_t width = warp_size;
  static constexpr std::size_t sum_bytes = 0;  // of shared memory
  /// Of the rows that a block has at a time, this thread's.
  static __device__ int row() { return static_cast<int>(threadIdx.x) / warp_size; }
  static __device__ int rows() { return static_cast<int>(blockDim.x) / warp_size; }
  static __device__ std::int64_t lane() { return threadIdx.x % warp_size; }
  template <class T>
  static __device__ T sum(T value) {
    return warp_sum(value);
  }
};

struct OfBlock {
  static constexpr std::int64_t width = threads_per_block;
  static constexpr std::size_t sum_bytes = warps_per_block * sizeof(double);
  static __device__ int row() { return 0; }
  static __device__ int rows() { return 1; }
  static __device__ std::int64_t lane() { return threadIdx.x; }
  template <class T>
  static __device__ T sum(T value) {
    return block_sum(value);
  }
};

/// body(whose the rows are).
template <class T, class Body>
void with_rows(std::int64_t C, const Body& body) {
  constexpr std::int64_t packs_of_lane = 4, widest_of_warp = warp_size * packs_of_lane * pack_size<T>;
  if (C > widest_of_warp) return body(OfBlock());
  body(OfWarp());
}

/// body(column, how many from there on) for the packs of this thread.
template <int N, class Row, class Body>
__device__ void for_columns(std::int64_t C, const Body& body) {
  for (std::int64_t c = Row::lane() * N; c < C; c += Row::width * N) body(c, C - c);
}

}  // namespace dt::kernels::cuda
