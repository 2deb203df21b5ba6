#pragma once
// Vectors: elements that a thread loads and stores at once, 16 bytes if they are aligned and whole.
// Otherwise they come one by one. The same instructions compute with both, so a value does not depend
// on its place.

#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/launch/code.cuh"

namespace dt::kernels::cuda {

/// N elements side by side.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T at[N];
};

/// The elements of a vector in a loop over tensors whose widest elements are T.
template <class T>
inline constexpr int vec_size = 16 / static_cast<int>(sizeof(T));

/// N elements as they lie in memory. 16-bit floats come as pairs, so that a branch joins whole
/// registers and not halves of them.
template <class T, int N>
struct ElementsOf {
  using type = Vec<T, N>;
};
template <class T, int N>
requires is_narrow<T>
struct ElementsOf<T, N> {
  static_assert(N % 2 == 0);
  using type = Vec<std::uint32_t, N / 2>;
};
template <class T, int N>
using Elements = typename ElementsOf<T, N>::type;

template <class T, int N>
__device__ Elements<T, N> elements_of(Vec<T, N> vec) {
  if constexpr (is_narrow<T>) {
    Elements<T, N> elements;
    memcpy(&elements, &vec, sizeof vec);
    return elements;
  } else {
    return vec;
  }
}

/// The count of elements at a place where a whole vector is known to begin.
struct FullVec {
  FullVec() = default;
  __device__ constexpr explicit FullVec(std::int64_t) {}
  __device__ constexpr operator std::int64_t() const { return 16; }
};

template <int N, class T>
__device__ inline bool is_full_vec(const T* p, std::int64_t count) {
  return count >= N && reinterpret_cast<std::uintptr_t>(p) % alignof(Vec<T, N>) == 0;
}
template <int N, class T>
__device__ constexpr bool is_full_vec(const T*, FullVec) {
  return true;
}

/// Returns whether rows of C elements at these addresses are whole vectors.
template <class T>
bool can_vectorize(std::int64_t C, std::initializer_list<const void*> rows) {
  const auto is_aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return C % vec_size<T> == 0 && std::ranges::all_of(rows, is_aligned);
}

/// Returns N elements at p. If there are fewer (`count`), the others are 0.
template <int N, class T, class Count>
__device__ Elements<T, N> load_elements(const T* p, Count count) {
  if (is_full_vec<N>(p, count)) return elements_of(*reinterpret_cast<const Vec<T, N>*>(p));
  Elements<T, N> elements{};
  for (int i = 0; i < N; ++i) {
    if (i >= count) continue;
    if constexpr (is_narrow<T>) {
      elements.at[i / 2] |= static_cast<std::uint32_t>(p[i].bits) << (i % 2 * 16);
    } else {
      elements.at[i] = p[i];
    }
  }
  return elements;
}

/// Returns the values of elements, in the type of computations.
template <class T, int N>
__device__ Vec<Value<T>, N> widened(const Elements<T, N>& elements) {
  Vec<Value<T>, N> values;
  if constexpr (is_narrow<T>) {
    for (int i = 0; i < N / 2; ++i) {
      const WidePair pair = widened_pair<T>(elements.at[i]);
      values.at[2 * i] = pair.first;
      values.at[2 * i + 1] = pair.second;
    }
  } else {
    for (int i = 0; i < N; ++i) values.at[i] = elements.at[i];
  }
  return values;
}

/// Hides from the compiler that the elements are unchanged. It then widens them once more where they
/// are used next, and has fewer registers full until then.
template <class E>
__device__ void hide_from_optimizer([[maybe_unused]] E& elements) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(elements.at[0])>, std::uint32_t>) {
    for (std::uint32_t& pair : elements.at) asm volatile("" : "+r"(pair));
  }
#endif
}

template <int N, class T, class Count>
__device__ Vec<Value<T>, N> load_vec(const T* p, Count count) {
  return widened<T, N>(load_elements<N>(p, count));
}

/// Returns the elements of these values, rounded.
template <class T, int N, class V>
__device__ Elements<T, N> narrowed(const Vec<V, N>& values) {
  Elements<T, N> elements;
  if constexpr (is_narrow<T>) {
    for (int i = 0; i < N / 2; ++i)
      elements.at[i] =
          rounded_pair<T>(static_cast<float>(values.at[2 * i]), static_cast<float>(values.at[2 * i + 1]));
  } else {
    for (int i = 0; i < N; ++i) elements.at[i] = rounded<T>(values.at[i]);
  }
  return elements;
}

/// Stores the values, rounded, or as many of them as there is room for.
template <int N, class T, class Count, class V>
__device__ void store_vec(T* p, Count count, const Vec<V, N>& values) {
  if (is_full_vec<N>(p, count)) {
    const Elements<T, N> elements = narrowed<T, N>(values);
    Vec<T, N> whole;
    memcpy(&whole, &elements, sizeof whole);
    *reinterpret_cast<Vec<T, N>*>(p) = whole;
  } else {
    for (int i = 0; i < N; ++i) {
      if (i < count) p[i] = rounded<T>(values.at[i]);
    }
  }
}

/// Does the same for 16 bytes that no thread of the kernel asks for again: caches then keep other
/// data instead.
template <int N, class T, class Count, class V>
__device__ void store_vec_streaming(T* p, Count count, const Vec<V, N>& values) {
#ifdef __CUDA_ARCH__
  static_assert(sizeof(Elements<T, N>) == sizeof(uint4));
  if (is_full_vec<N>(p, count)) {
    const Elements<T, N> elements = narrowed<T, N>(values);
    uint4 bits;
    memcpy(&bits, &elements, sizeof bits);
    // __stcs() for uint4 is missing from clang's headers.
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(bits.x), "r"(bits.y),
                 "r"(bits.z), "r"(bits.w)
                 : "memory");
    return;
  }
#endif
  store_vec<N>(p, count, values);
}

/// Calls body(begin of a vector of N, number of elements from there on) for the vectors of this thread.
template <int N, class Body>
__device__ void for_vecs(std::int64_t count, const Body& body) {
  for (std::int64_t i = first_element() * N; i < count; i += element_stride() * N) body(i, count - i);
}
/// Calls body(row, column, number of elements from there on). Blocks take rows in turn, so that no
/// thread divides to find its place.
template <int N, class Body>
__device__ void for_vecs(std::int64_t R, std::int64_t C, const Body& body) {
  for (std::int64_t r = blockIdx.y; r < R; r += gridDim.y)
    for_vecs<N>(C, [&](std::int64_t c, std::int64_t left) { body(r, c, left); });
}

}  // namespace dt::kernels::cuda
