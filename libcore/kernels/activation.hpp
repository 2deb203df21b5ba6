#pragma once
// The MLP's non-linearities. Legend: R rows, F hidden features. A call's tensors are of one dtype: f64, f32,
// bf16 or f16.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// y = ½x(1 + tanh(√(2/π)(x + 0.044715x³))).  Source: Hendrycks & Gimpel 2016, section 2.
void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF);
/// dx = dy · gelu'(x); dx may alias dy or x.
void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF);

/// y = silu(gate) · up. The gate and up halves lie beside each other in each row: gate_up_RG, G = 2F.
/// Source: Shazeer 2020, eq. 5.
void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF);
/// Writes dgate_up_RG; it may alias gate_up_RG.
void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG);

}  // namespace dt::kernels
