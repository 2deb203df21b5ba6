#pragma once
// Assigns the rows of a norm to warps or blocks, and the parts of a row to threads.

#include <utility>

#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/vec.cuh"

namespace dt::kernels::cuda {

/// Returns what a feature is multiplied by: its weight, or 1 + weight.
template <bool plus_one, class V>
__device__ V factor(V weight) {
  if constexpr (plus_one)
    return 1 + weight;
  else
    return weight;
}

/// Rows of a warp, taken if possible: a row's sums wait for no other warp, and many rows are in
/// flight. A thread has at most P whole vecs of a row, in registers. If P is 0, it has any number,
/// whole or not.
template <int P>
struct OfWarp {
  static constexpr std::int64_t width = warp_size;
  static constexpr std::size_t sum_bytes = 0;  // in shared memory
  static constexpr int vecs = P;
  /// Returns this thread's row among those that a block has at a time.
  static __device__ int row() { return static_cast<int>(threadIdx.x) / warp_size; }
  static __device__ int rows() { return static_cast<int>(blockDim.x) / warp_size; }
  static __device__ std::int64_t lane() { return threadIdx.x % warp_size; }
  template <class T>
  static __device__ T sum(T value) {
    return warp_sum(value);
  }
};

template <int P>
struct OfBlock {
  static constexpr std::int64_t width = threads_per_block;
  static constexpr std::size_t sum_bytes = warps_per_block * sizeof(double);
  static constexpr int vecs = P;
  static __device__ int row() { return 0; }
  static __device__ int rows() { return 1; }
  static __device__ std::int64_t lane() { return threadIdx.x; }
  template <class T>
  static __device__ T sum(T value) {
    return block_sum(value);
  }
};

/// Calls body(OfWarp or OfBlock). Only kernels of 16-bit floats come in more than one size.
template <class T, class Body>
void with_rows(std::int64_t C, bool are_whole, const Body& body) {
  const auto [threads, vecs] = norm_row(vec_size<T>, C);
  const bool of_warp = threads == warp_size;
  if (!are_whole || vecs > (of_warp ? max_vecs_per_lane : 4))
    return of_warp ? body(OfWarp<0>()) : body(OfBlock<0>());
  if (vecs > 4) return body(OfWarp<max_vecs_per_lane>());
  if constexpr (is_narrow<T>) {
    if (vecs <= 2) return of_warp ? body(OfWarp<2>()) : body(OfBlock<2>());
    if (vecs == 3) return of_warp ? body(OfWarp<3>()) : body(OfBlock<3>());
  }
  of_warp ? body(OfWarp<4>()) : body(OfBlock<4>());
}

/// Calls body(number of this thread's vector, column, number of elements from there on).
template <int N, class Row, class Body>
__device__ void for_columns(std::int64_t C, const Body& body) {
  if constexpr (Row::vecs > 0) {
    // Vectors are compile-time constants, so that they lie in registers.
    [&]<int... vecs>(std::integer_sequence<int, vecs...>) {
      const auto one = [&](int vec) {
        const std::int64_t c = (Row::lane() + vec * Row::width) * N;
        if (c < C) body(vec, c, FullVec());
      };
      (one(vecs), ...);
    }
    (std::make_integer_sequence<int, Row::vecs>());
  } else {
    for (std::int64_t c = Row::lane() * N; c < C; c += Row::width * N) body(0, c, C - c);
  }
}

/// This thread's vecs of a row. The row is read from memory once. If the vecs are many, they are
/// read again from the cache each time.
template <class Row, class T>
class RowVecs {
 public:
  static constexpr int N = vec_size<T>;

  __device__ RowVecs(const T* row, std::int64_t C) : row_(row) {
    if constexpr (Row::vecs > 0) {
      for_columns<N, Row>(
          C, [&](int vec, std::int64_t c, auto left) { kept_[vec] = load_elements<N>(row + c, left); });
    }
  }
  template <class Count>
  __device__ Vec<Value<T>, N> at(int vec, std::int64_t c, Count left) const {
    if constexpr (Row::vecs > 0) {
      return widened<T, N>(kept_[vec]);
    } else {
      return load_vec<N>(row_ + c, left);
    }
  }

 private:
  const T* row_;
  Elements<T, N> kept_[Row::vecs > 0 ? Row::vecs : 1];
};

}  // namespace dt::kernels::cuda
