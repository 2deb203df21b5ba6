#pragma once
// The choice of a kernel's implementation, made only here.

#include "kernels/gpu_kernels.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// The implementations of one public kernel; all have its signature.
template <class Function>
struct Implementations {
  Function* reference_f64;
  Function* reference_f32;
  Function* fast;
  Function* GpuKernels::*gpu = nullptr;
};

/// Returns the implementation. On a GPU it is the GPU's, for any dtype. On the host, fp64 uses the
/// reference; fp32 and the 16-bit floats use the fast kernels, but fp32 uses the reference if the
/// context requests it.
/// Errors: internal if no implementation supports the dtype.
template <class Function>
Function* select_kernel(const Implementations<Function>& implementations, const Context& context,
                        const char* kernel, DType dtype) {
  if (context.device() != Device::host()) {
    DT_CHECK(implementations.gpu != nullptr, "{}: there is no kernel for {}", kernel,
             context.device().to_string());
    return gpu_kernels(context).*implementations.gpu;
  }
  context.poll();
  if (dtype == DType::f64) return implementations.reference_f64;
  if (context.reference_only()) {
    DT_CHECK(dtype == DType::f32, "{}: there is no reference kernel for {}", kernel, dtype_name(dtype));
    return implementations.reference_f32;
  }
  DT_CHECK(dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16,
           "{}: there is no kernel for {}", kernel, dtype_name(dtype));
  return implementations.fast;
}

}  // namespace dt::kernels
