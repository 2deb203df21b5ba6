#pragma once
// The kernels of a program's GPUs. Most programs know of none, and link none.

#include "kernels/activation.hpp"
#include "kernels/adamw.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/norm.hpp"

namespace dt::kernels {

/// Each has the signature of the public function of its name, which has checked the arguments.
struct GpuKernels {
  decltype(kernels::layer_norm)* layer_norm;
  decltype(kernels::layer_norm_backward)* layer_norm_backward;
  decltype(kernels::rms_norm)* rms_norm;
  decltype(kernels::rms_norm_backward)* rms_norm_backward;

  decltype(kernels::gelu)* gelu;
  decltype(kernels::gelu_backward)* gelu_backward;
  decltype(kernels::swiglu)* swiglu;
  decltype(kernels::swiglu_backward)* swiglu_backward;

  decltype(kernels::attention)* attention;
  decltype(kernels::attention_backward)* attention_backward;
  decltype(kernels::merge_attention)* merge_attention;
  decltype(kernels::rotary)* rotary;

  decltype(kernels::embedding)* embedding;
  decltype(kernels::embedding_backward)* embedding_backward;

  decltype(kernels::cross_entropy)* cross_entropy;
  decltype(kernels::cross_entropy_gradient)* cross_entropy_gradient;
  decltype(kernels::cross_entropy_part)* cross_entropy_part;
  decltype(kernels::cross_entropy_of_parts)* cross_entropy_of_parts;
  decltype(kernels::cross_entropy_gradient_of_parts)* cross_entropy_gradient_of_parts;

  decltype(kernels::add)* add;
  decltype(kernels::add_bias_residual)* add_bias_residual;
  decltype(kernels::accumulate)* accumulate;
  decltype(kernels::convert)* convert;
  decltype(kernels::convert_columns)* convert_columns;
  decltype(kernels::fill)* fill;
  decltype(kernels::sum_squares_by_block)* sum_squares_by_block;

  decltype(kernels::adamw)* adamw;
};

/// Errors: internal, where the program has none: nobody made a context of a GPU then.
const GpuKernels& gpu_kernels();
/// Once, before any is asked for; nullptr: none any more.
void set_gpu_kernels(const GpuKernels* kernels);

}  // namespace dt::kernels
