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
  Function* fast;  // f32, bf16 and f16
};

/// fp64 is the reference's; the rest are the fast kernels' unless the context asks for the reference, which
/// has no 16-bit floats.
/// Errors: internal, for any other dtype.
template <class Function>
Function* pick(const Implementations<Function>& implementations, const Context& context, const char* kernel,
               DType dtype) {
  if (dtype == DType::f64) return implementations.reference_f64;
  const bool half = dtype == DType::bf16 || dtype == DType::f16;
  DT_CHECK(dtype == DType::f32 || (half && !context.reference_only()), "{}: there is no kernel for {}",
           kernel, dtype_name(dtype));
  return context.reference_only() ? implementations.reference_f32 : implementations.fast;
}

}  // namespace dt::kernels
