#pragma once
// The language-model loss. Legend: R rows, V vocabulary.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// nll_R (fp64) = −log softmax(logits)[label] per row. logits are f64, f32, bf16 or f16; labels are int32; a
/// negative label is no target: its nll is 0.
void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R);
/// The same nll_R, and in the logits' place their gradient (softmax − onehot) · scale per row; zero rows
/// where the label is negative. Each row is read from memory once.
void cross_entropy_gradient(const Context& context, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV);

}  // namespace dt::kernels
