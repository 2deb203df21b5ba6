#pragma once
// Declarations with which all sources of GPU kernels begin. The sources are ordinary CUDA C++. nvcc
// compiles them for GPUs. Tests compile them for threads on the host, and first include
// declarations of CUDA's own names.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/launch/launch.cuh"
#endif

namespace dt::kernels::cuda {

// Conversions of 16-bit floats by the instructions that GPUs have for them: two are rounded, or
// widened, at once. The bits are those of base/numeric/half.hpp, except for a NaN, which is 0x7FFF
// once it has been rounded.
// Source: CUDA's cuda_bf16.hpp and cuda_fp16.hpp, whose functions of these names for the host do the
// same (tests/gpu/rounding.cpp).

/// Returns the bits of two rounded values, the first of which lies before the other in memory.
template <class T>
__device__ inline std::uint32_t rounded_pair(float first, float second) {
  std::uint32_t bits;
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto pair = __floats2bfloat162_rn(first, second);
    memcpy(&bits, &pair, sizeof bits);
  } else {
    static_assert(std::is_same_v<T, Float16>);
    const auto pair = __floats2half2_rn(first, second);
    memcpy(&bits, &pair, sizeof bits);
  }
  return bits;
}

struct WidePair {
  float first, second;
};
template <class T>
__device__ inline WidePair widened_pair(std::uint32_t bits) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const std::uint32_t first = bits << 16, second = bits & 0xFFFF0000U;
    WidePair pair;
    memcpy(&pair.first, &first, sizeof first);
    memcpy(&pair.second, &second, sizeof second);
    return pair;
  } else {
    static_assert(std::is_same_v<T, Float16>);
    __half2 halves;
    memcpy(&halves, &bits, sizeof bits);
    const float2 pair = __half22float2(halves);
    return {pair.x, pair.y};
  }
}

/// Returns a value as an element of T. It goes from fp64 to 16 bits by way of fp32.
template <class T, class V>
__device__ inline T rounded(V value) {
  if constexpr (is_narrow<T>) {
    T element;
    element.bits = static_cast<std::uint16_t>(rounded_pair<T>(static_cast<float>(value), 0));
    return element;
  } else {
    return static_cast<T>(value);
  }
}

// Functions for 16-bit floats alone. Their errors are a few units of fp32's last place, far below
// what the results are rounded to.

inline constexpr float log2_e = 1.4426950408889634F;

/// Returns 2^x by one instruction, or 0 if that is below 2^−126.
__device__ inline float power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  const float power = std::exp2(x);
  return power < 0x1p-126F ? 0 : power;
#endif
}
/// Returns exp(x), for 16-bit floats as a power of two.
template <class T, class V>
__device__ inline V exp_for(V x) {
  if constexpr (is_narrow<T>) {
    return exp2f(x * log2_e);
  } else {
    return std::exp(x);
  }
}
/// Returns 1 / x for x of at least 1. From x = 2^126 on, the result is 0 or at most 2^−126.
template <class T, class V>
__device__ inline V reciprocal_for(V x) {
  if constexpr (is_narrow<T>) {
    return __fdividef(1.0F, x);
  } else {
    return 1 / x;
  }
}

/// The type of computations: fp64 for fp64, else fp32.
template <class T>
using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
__device__ inline Value<T> load(const T* p) {
  if constexpr (is_narrow<T>) {
    return widened_pair<T>(p->bits).first;
  } else {
    return static_cast<Value<T>>(*p);
  }
}

/// Return this thread's first element, and the distance to its next.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// Returns the tensor's elements, or null if it is absent.
template <class T>
T* elements(const Tensor& tensor) {
  return tensor ? tensor.data<T>() : nullptr;
}

}  // namespace dt::kernels::cuda
