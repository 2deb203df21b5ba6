#pragma once
// Elements that a thread loads and stores at once: 16 bytes, where they lie so and are whole. Otherwise they
// come one by one, and what is computed with them is computed by the same instructions: a value does not
// depend on its place.

#include "kernels/cuda/code.cuh"

namespace dt::kernels::cuda {

/// So many elements side by side.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

/// Of a loop over tensors whose widest elements are T.
template <class T>
inline constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

template <int N, class T>
__device__ inline bool is_whole(const T* p, std::int64_t count) {
  return count >= N && reinterpret_cast<std::uintptr_t>(p) % alignof(Pack<T, N>) == 0;
}

/// The N elements at p, of which there are `count` or, where that is more, all; 0 for the others.
template <int N, class T>
__device__ Pack<Value<T>, N> load_pack(const T* p, std::int64_t count) {
  Pack<Value<T>, N> values{};
  if (is_whole<N>(p, count)) {
    const auto elements = *reinterpret_cast<const Pack<T, N>*>(p);
    for (int i = 0; i < N; ++i) values.at[i] = static_cast<Value<T>>(elements.at[i]);
  } else {
    for (int i = 0; i < N; ++i) {
      if (i < count) values.at[i] = load(p + i);
    }
  }
  return values;
}

/// As many of them as there are, rounded; from fp64 to 16 bits by way of fp32.
template <int N, class T, class V>
__device__ void store_pack(T* p, std::int64_t count, const Pack<V, N>& values) {
  const auto rounded = [](V value) { return T(static_cast<Value<T>>(value)); };
  if (is_whole<N>(p, count)) {
    Pack<T, N> elements;
    for (int i = 0; i < N; ++i) elements.at[i] = rounded(values.at[i]);
    *reinterpret_cast<Pack<T, N>*>(p) = elements;
  } else {
    for (int i = 0; i < N; ++i) {
      if (i < count) p[i] = rounded(values.at[i]);
    }
  }
}

/// For loops over packs of N: of so many elements; of R rows of C each.
template <int N>
Grid grid_for_packs(std::int64_t count) {
  return grid_for((count + N - 1) / N);
}
template <int N>
Grid grid_for_packs(std::int64_t R, std::int64_t C) {
  constexpr std::int64_t warp = 32, rows_of_thread = 4, most_blocks = 65535;
  const std::int64_t threads = ((C + N - 1) / N + warp - 1) / warp * warp,
                     rows = (R + rows_of_thread - 1) / rows_of_thread;
  return {.blocks = grid_for_packs<N>(C).blocks,
          .blocks_y = static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, most_blocks)),
          .threads = static_cast<unsigned>(std::clamp<std::int64_t>(threads, warp, threads_per_block))};
}

/// body(where a pack of N begins, how many elements there are from there on), for those of this thread.
template <int N, class Body>
__device__ void for_packs(std::int64_t count, const Body& body) {
  for (std::int64_t i = first_element() * N; i < count; i += element_stride() * N) body(i, count - i);
}
/// body(row, column, how many from there on). Blocks take rows in turn, so that nobody divides to find out
/// where it is.
template <int N, class Body>
__device__ void for_packs(std::int64_t R, std::int64_t C, const Body& body) {
  for (std::int64_t r = blockIdx.y; r < R; r += gridDim.y)
    for_packs<N>(C, [&](std::int64_t c, std::int64_t left) { body(r, c, left); });
}

}  // namespace dt::kernels::cuda
