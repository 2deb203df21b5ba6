#pragma once
// The kernels of a program's GPUs. Most programs know of none, and link none.

#include "kernels/activation.hpp"
#include "kernels/adamw.hpp"
#include "kernels/attention.hpp"
#include "kernels/combine.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"

namespace dt::kernels {

/// All of them, by op: KERNEL(name) once for each public function that GPUs have.
#define DT_GPU_KERNELS(KERNEL)            \
  /* norm */                              \
  KERNEL(layer_norm)                      \
  KERNEL(layer_norm_backward)             \
  KERNEL(rms_norm)                        \
  KERNEL(rms_norm_backward)               \
  /* linear */                            \
  KERNEL(linear)                          \
  KERNEL(linear_backward_input)           \
  KERNEL(linear_backward_weight)          \
  KERNEL(bias_backward)                   \
  KERNEL(product_library)                 \
  KERNEL(product_algorithms)              \
  /* activation */                        \
  KERNEL(gelu)                            \
  KERNEL(gelu_backward)                   \
  KERNEL(swiglu)                          \
  KERNEL(swiglu_backward)                 \
  /* attention */                         \
  KERNEL(attention)                       \
  KERNEL(attention_backward)              \
  KERNEL(attention_library)               \
  KERNEL(attention_declines)              \
  KERNEL(merge_attention)                 \
  KERNEL(first_visible)                   \
  KERNEL(rotary)                          \
  /* embedding */                         \
  KERNEL(embedding)                       \
  KERNEL(embedding_backward)              \
  /* cross-entropy */                     \
  KERNEL(cross_entropy)                   \
  KERNEL(cross_entropy_gradient)          \
  KERNEL(cross_entropy_part)              \
  KERNEL(cross_entropy_of_parts)          \
  KERNEL(cross_entropy_gradient_of_parts) \
  /* elementwise */                       \
  KERNEL(add)                             \
  KERNEL(add_bias_residual)               \
  KERNEL(accumulate)                      \
  KERNEL(convert)                         \
  KERNEL(convert_columns)                 \
  KERNEL(fill)                            \
  KERNEL(sum_squares_by_block)            \
  KERNEL(add_exactly)                     \
  /* ranks */                             \
  KERNEL(combine_ranks)                   \
  /* optimizer */                         \
  KERNEL(adamw)

/// Each has the signature of the public function of its name, which has checked the arguments.
struct GpuKernels {
#define DT_MEMBER(name) decltype(kernels::name)* name;
  DT_GPU_KERNELS(DT_MEMBER)
#undef DT_MEMBER
};

/// Errors: internal, where the program has none: nobody made a context of a GPU then.
const GpuKernels& gpu_kernels();
/// For one of them to be called: see Context::keep_pace.
const GpuKernels& gpu_kernels(const Context& context);
/// Once, before any is asked for; nullptr: none any more.
void set_gpu_kernels(const GpuKernels* kernels);

}  // namespace dt::kernels
