#pragma once
// Dispatch: the table of GPU kernels, which most programs lack, and the choice between a kernel's
// implementations, made only here.

#include "kernels/activation.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"
#include "kernels/combine.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/head_norm.hpp"
#include "kernels/linear.hpp"
#include "kernels/newton_schulz.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer_step.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softcap.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// All GPU kernels by op: KERNEL(name) once for each public function that GPUs have.
#define DT_GPU_KERNELS(KERNEL)                 \
  /* norm */                                   \
  KERNEL(layer_norm)                           \
  KERNEL(layer_norm_backward)                  \
  KERNEL(rms_norm)                             \
  KERNEL(rms_norm_backward)                    \
  /* head norm */                              \
  KERNEL(head_norm_squares)                    \
  KERNEL(head_norm)                            \
  KERNEL(head_norm_products)                   \
  KERNEL(head_norm_backward)                   \
  /* linear */                                 \
  KERNEL(linear)                               \
  KERNEL(linear_backward_input)                \
  KERNEL(linear_backward_weight)               \
  KERNEL(bias_backward)                        \
  KERNEL(matmul_library)                       \
  KERNEL(matmul_algorithms)                    \
  /* activation */                             \
  KERNEL(activation)                           \
  KERNEL(activation_backward)                  \
  KERNEL(gated_activation)                     \
  KERNEL(gated_activation_backward)            \
  /* attention */                              \
  KERNEL(attention)                            \
  KERNEL(attention_backward)                   \
  KERNEL(attention_library)                    \
  KERNEL(attention_fallbacks)                  \
  KERNEL(merge_attention)                      \
  KERNEL(first_visible)                        \
  KERNEL(rotary)                               \
  /* embedding */                              \
  KERNEL(embedding)                            \
  KERNEL(embedding_backward)                   \
  /* cross-entropy */                          \
  KERNEL(cross_entropy)                        \
  KERNEL(cross_entropy_gradient)               \
  KERNEL(cross_entropy_partial)                \
  KERNEL(cross_entropy_from_partials)          \
  KERNEL(cross_entropy_gradient_from_partials) \
  KERNEL(scale_and_softcap)                    \
  /* elementwise */                            \
  KERNEL(add)                                  \
  KERNEL(add_bias_residual)                    \
  KERNEL(scale_add)                            \
  KERNEL(accumulate)                           \
  KERNEL(cast)                                 \
  KERNEL(cast_columns)                         \
  KERNEL(fill)                                 \
  KERNEL(sum_squares_by_block)                 \
  KERNEL(accumulate_exact)                     \
  /* ranks */                                  \
  KERNEL(combine_ranks)                        \
  /* optimizer */                              \
  KERNEL(optimizer_step)                       \
  KERNEL(newton_schulz)

/// Each member has the signature of the public function of its name, which has checked the
/// arguments.
struct GpuKernels {
#define DT_MEMBER(name) decltype(kernels::name)* name;
  DT_GPU_KERNELS(DT_MEMBER)
#undef DT_MEMBER
};

/// Returns the table.
/// Errors: internal if the program has none. In this case no context of a GPU exists.
const GpuKernels& gpu_kernels();
/// Returns the table for a call; see Context::throttle.
const GpuKernels& gpu_kernels(const Context& context);
/// Sets the table. Call it once, before the table is used; nullptr removes it.
void set_gpu_kernels(const GpuKernels* kernels);

/// A kernel's place in the table.
template <class Function>
using GpuKernel = Function* GpuKernels::*;

/// The implementations of one public kernel; all have its signature.
template <class Function>
struct Implementations {
  Function* reference_f64;
  Function* reference_f32;
  Function* fast;
  GpuKernel<Function> gpu = nullptr;
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
  DT_CHECK(has_dtype(CpuTypes(), dtype), "{}: there is no kernel for {}", kernel, dtype_name(dtype));
  return implementations.fast;
}

}  // namespace dt::kernels
