#pragma once
// The factors of one AdamW step, computed once from the settings in double.

#include <cmath>

#include "kernels/adamw.hpp"

namespace dt::kernels {

/// W is the type in which weights are computed.
template <class W>
struct AdamWFactors {
  W grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2;
  W decay;   // lr · weight_decay
  W rate;    // lr / (1 − β₁ᵗ)
  W spread;  // 1 / √(1 − β₂ᵗ)
  W eps;
};

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
