#pragma once
// Declarations with which all sources of GPU kernels begin. The sources are ordinary CUDA C++. nvcc
// compiles them for GPUs. Tests compile them for threads on the host, and first include
// declarations of CUDA's own names.

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/cuda/launch/narrow.cuh"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

#ifdef __CUDACC__
#include "kernels/cuda/launch/launch.cuh"
#endif

namespace dt::kernels::cuda {

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
