#pragma once
// Which implementation of a kernel runs: the one place that decides.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// The implementations of one public kernel; all have its signature.
template <class Function>
struct Implementations {
  Function* reference_f64;
  Function* reference_f32;
  Function* cpu_f32;
};

/// fp64 is the reference's; fp32 is the fast kernels' unless the context asks for the reference.
/// Errors: internal, for any other dtype.
template <class Function>
Function* pick(const Implementations<Function>& implementations, const Context& context, const char* kernel,
               DType dtype) {
  DT_CHECK(dtype == DType::f64 || dtype == DType::f32, "{}: there is no kernel for {}", kernel,
           dtype_name(dtype));
  if (dtype == DType::f64) return implementations.reference_f64;
  return context.reference_only() ? implementations.reference_f32 : implementations.cpu_f32;
}

}  // namespace dt::kernels
