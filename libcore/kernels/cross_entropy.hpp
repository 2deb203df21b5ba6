#pragma once
// The language-model loss. Legend: R rows, V vocabulary.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// nll_R (fp64) = −log softmax(logits)[label] per row, and lse_R (logits' dtype) = log Σ exp(logits).
/// labels are int32; a negative label is no target: its nll is 0.
void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R, const Tensor& lse_R);
/// Turns logits into their gradient in place: (softmax − onehot) · scale per row; zero rows where the label
/// is negative.
void cross_entropy_backward(const Context& context, const Tensor& labels_R, const Tensor& lse_R, double scale,
                            const Tensor& logits_RV);

}  // namespace dt::kernels
