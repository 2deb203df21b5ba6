#pragma once
// The AdamW update, and its factors.

#include <cmath>
#include <cstdint>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

struct AdamWStep {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;  // decoupled: w −= lr · weight_decay · w
  std::int64_t step;    // t, counted from 1
  double grad_scale;    // factor of every gradient, applied first (clipping, loss scale)
};

/// Updates w, m and v in place, and sets copy to the new w, rounded:
/// g = grad · grad_scale; m = β₁m + (1−β₁)g; v = β₂v + (1−β₂)g²;
/// w = w − lr · weight_decay · w − lr · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + eps).
/// Shapes: all tensors have one length. copy may be absent.
/// Numerics: w, m and v are of one dtype, f32 or f64. grad is f64 for f64, else f32 or bf16. copy
/// is bf16 or f16 and requires an fp32 w.
/// Source: Loshchilov & Hutter 2019, algorithm 2.
void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v, const Tensor& copy);

/// The factors of one AdamW step. W is the type in which weights are computed.
template <class W>
struct AdamWFactors {
  W grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2;
  W decay;   // lr · weight_decay
  W rate;    // lr / (1 − β₁ᵗ)
  W spread;  // 1 / √(1 − β₂ᵗ)
  W eps;
};

/// Returns the factors, computed once from the settings in double.
template <class W>
AdamWFactors<W> factors_of(const AdamWStep& step) {
  const auto t = static_cast<double>(step.step);
  return {.grad_scale = W(step.grad_scale),
          .beta1 = W(step.beta1),
          .one_minus_beta1 = W(1 - step.beta1),
          .beta2 = W(step.beta2),
          .one_minus_beta2 = W(1 - step.beta2),
          .decay = W(step.lr * step.weight_decay),
          .rate = W(step.lr / (1 - std::pow(step.beta1, t))),
          .spread = W(1 / std::sqrt(1 - std::pow(step.beta2, t))),
          .eps = W(step.eps)};
}

}  // namespace dt::kernels
