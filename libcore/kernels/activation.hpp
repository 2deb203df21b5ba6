#pragma once
// The MLP's non-linearities. All tensors of a call have one dtype: f64, f32, bf16 or f16.
// Legend: R rows, F hidden features.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Computes y = ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
/// Source: Hendrycks & Gimpel 2016, section 2.
void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF);
/// Computes dx = dy · gelu'(x). dx may alias dy or x.
void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF);

/// Computes y = silu(gate) · up.
/// Shapes: each row of gate_up_RG, G = 2F, has the gate half followed by the up half.
/// Source: Shazeer 2020, eq. 5.
void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF);
/// Computes dgate_up_RG, which may alias gate_up_RG.
void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG);

}  // namespace dt::kernels
