#pragma once
// Factor and soft cap of logits, before their loss.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Replaces x_RV by cap · tanh(scale · x / cap), or by scale · x if `cap` is 0. x is f64, f32, bf16 or
/// f16. On GPUs its rows may be padded (Tensor::pitch); the padding is neither read nor written.
/// Numerics: fp32 and 16-bit floats compute in fp32, with tanh within 5 units in the last place
/// (relative 3e-7). A result is never beyond ±cap before it is rounded. NaN stays NaN.
/// cross_entropy_gradient and its like differentiate through the cap.
/// Source: Bello et al. 2016, appendix A.1, and the Gemma team 2024 (Gemma 2), section 2.
void scale_and_softcap(const Context& context, double scale, double cap, const Tensor& x_RV);

}  // namespace dt::kernels
