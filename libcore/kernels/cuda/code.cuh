#pragma once
// What the sources of kernels for GPUs begin with. They are ordinary CUDA C++: nvcc compiles them for GPUs,
// and tests for threads on the host, whose twin of CUDA's own names is included before them.

#include <cstdint>
#include <type_traits>

#include "base/half.hpp"
#include "kernels/cuda/grid.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

#ifdef __CUDACC__
#include "kernels/cuda/launch.cuh"
#endif

namespace dt::kernels::cuda {

/// What is computed with: fp64 for fp64, else fp32.
template <class T>
using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
__device__ inline Value<T> load(const T* p) {
  return static_cast<Value<T>>(*p);
}

/// The first element of this thread, and how far it is to its next.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// body(T()) with the type of a tensor's elements.
template <class Body>
void with_elements(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64:
      return body(double());
    case DType::f32:
      return body(float());
    case DType::bf16:
      return body(BFloat16());
    case DType::f16:
      return body(Float16());
    default:
      DT_CHECK(false, "there is no kernel for {}", dtype_name(dtype));
  }
}

/// Null where the tensor is absent.
template <class T>
T* elements(const Tensor& tensor) {
  return tensor ? tensor.data<T>() : nullptr;
}

}  // namespace dt::kernels::cuda
