#pragma once
// The MLP's non-linearities. All tensors of a call have one dtype: f64, f32, bf16 or f16.
// Legend: R rows, F hidden features.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

enum class Activation {
  gelu,      // ½x(1 + tanh(√(2/π)(x + 0.044715x³))) (Hendrycks & Gimpel 2016, section 2)
  gelu_erf,  // ½x(1 + erf(x/√2)), which gelu approximates (same source)
  silu,      // x/(1 + e^−x) (Ramachandran et al. 2017)
  relu2,     // max(x, 0)² (So et al. 2021, section 4)
};

/// Computes y = f(x) for an activation other than silu, which only gates.
void activation(const Context& context, Activation f, const Tensor& x_RF, const Tensor& y_RF);
/// Computes dx = dy · f'(x). dx may alias dy or x.
void activation_backward(const Context& context, Activation f, const Tensor& dy_RF, const Tensor& x_RF,
                         const Tensor& dx_RF);

/// Computes y = f(gate) · up for gelu or silu.
/// Shapes: each row of gate_up_RG, G = 2F, has the gate half followed by the up half.
/// Source: Shazeer 2020, eq. 5.
void gated_activation(const Context& context, Activation f, const Tensor& gate_up_RG, const Tensor& y_RF);
/// Computes dgate_up_RG, which may alias gate_up_RG.
void gated_activation_backward(const Context& context, Activation f, const Tensor& dy_RF,
                               const Tensor& gate_up_RG, const Tensor& dgate_up_RG);

}  // namespace dt::kernels
