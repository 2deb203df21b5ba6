#pragma once
// The language-model loss. Legend: R rows, V vocabulary (or the columns of it that a rank has), N ranks.
// On GPUs the rows of logits may be padded (Tensor::pitch): what lies there is neither read nor written.

#include "kernels/slice.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// nll_R (fp64) = −log softmax(logits)[label] per row. logits are f64, f32, bf16 or f16; labels are int32; a
/// negative label is no target: its nll is 0. A label beyond the vocabulary: Error{internal}; on a GPU, where
/// nobody looks at them first, NaN.
void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R);
/// The same nll_R, and in the logits' place their gradient (softmax − onehot) · scale per row; zero rows
/// where the label is negative. Each row is read from memory once, on a GPU also from its cache.
void cross_entropy_gradient(const Context& context, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV);

// The same where N ranks divide the vocabulary: `columns` says which of its columns the logits of a rank
// are, evenly or not; labels count the whole vocabulary. Each rank makes its part, the ranks gather all
// parts, and each finishes for its own columns, with the same nll_R on all.  Source: Shoeybi et al. 2019,
// section 3.

/// The part of this rank: per row {s, Σ e^(logit − s), the label's logit or 0 where its column is elsewhere},
/// in fp64, for a shift s of the row near the highest logits; zeros where the label is negative.
void cross_entropy_part(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                        Slice columns, const Tensor& part_3R);
/// nll_R from the parts of all ranks in order.
void cross_entropy_of_parts(const Context& context, const Tensor& parts_N3R, const Tensor& labels_R,
                            const Tensor& nll_R);
/// The same nll_R, and in the place of this rank's logits their gradient, as cross_entropy_gradient's.
void cross_entropy_gradient_of_parts(const Context& context, const Tensor& parts_N3R, const Tensor& labels_R,
                                     Slice columns, double scale, const Tensor& nll_R,
                                     const Tensor& logits_RV);

}  // namespace dt::kernels
