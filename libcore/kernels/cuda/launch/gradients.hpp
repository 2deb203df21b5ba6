#pragma once
// Selects the type that gradients of parameters have.

#include "base/error.hpp"
#include "base/numeric/dtype.hpp"
#include "base/numeric/half.hpp"

namespace dt::kernels::cuda {

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
