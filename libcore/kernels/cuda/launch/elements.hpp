#pragma once
// Selects the type of a tensor's elements, and of parameters' gradients. Kernels for GPUs are templates over
// these types.

#include "base/error.hpp"
#include "base/numeric/dtype.hpp"

namespace dt::kernels::cuda {

/// Calls body(T()) with the type of a tensor's elements.
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

/// Calls body(G()) with the type of a gradient's elements.
/// Errors: internal, gradients of parameters do not have this dtype (kernels/check.hpp).
template <class Body>
void with_parameter_gradients(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64:
      return body(double());
    case DType::f32:
      return body(float());
    case DType::bf16:
      return body(BFloat16());
    default:
      DT_CHECK(false, "there is no kernel for gradients in {}", dtype_name(dtype));
  }
}

}  // namespace dt::kernels::cuda
