#pragma once
// Selects the type of a tensor's elements, and of parameters' gradients. Kernels for GPUs are templates over
// these types.

#include "base/error.hpp"
#include "base/numeric/visit_dtype.hpp"
#include "kernels/element_types.hpp"

namespace dt::kernels::cuda {

/// Calls body(T()) with the type of a tensor's elements.
template <class Body>
void with_elements(DType dtype, const Body& body) {
  visit_dtype(GpuTypes(), dtype, "GPU kernel", body);
}

/// Calls body(G()) with the type of a gradient's elements.
/// Errors: internal, gradients of parameters do not have this dtype (kernels/check.hpp).
template <class Body>
void with_parameter_gradients(DType dtype, const Body& body) {
  visit_dtype(GpuGradientTypes(), dtype, "GPU kernel for gradients", body);
}

}  // namespace dt::kernels::cuda
