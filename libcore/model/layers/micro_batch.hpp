#pragma once
// Legend: B micro-batch, T sequence, R = B·T rows, V vocabulary.

#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace dt::model {

/// The samples that units compute with at once.
/// Shapes: tensors are int32 of R elements, one sequence after the other. With context parallelism,
/// T is the length of this rank's part of each sequence. Rows are then the earlier chunk of all
/// sequences, followed by the later chunk (see Zigzag).
struct MicroBatch {
  std::int64_t batch = 0;     // B
  std::int64_t sequence = 0;  // T
  Tensor tokens_R;
  Tensor labels_R;     // negative: no target
  Tensor positions_R;  // position of each token within its sequence
  Tensor first_R;      // first position of its sequence that each token may see; absent: 0
  std::span<const std::uint64_t> samples_B;  // global sample indices
  std::int64_t step = 0;
  double loss_scale = 1;  // multiplies the gradient of Σ nll: (fp16's scale) / target tokens of the step
  double auxiliary_scale =
      1;  // multiplies the gradient of auxiliary losses of all rows: (fp16's scale) / tokens of the step
  Tensor logits_RV;  // if present, the head's forward also writes this rank's columns of the logits here
  /// If present, the forward of a unit with A auxiliary losses writes their terms here: fp64, [A, R],
  /// with 0 where a row has no term. As with nll_R, ranks that share layers all have all rows.
  Tensor auxiliary_AR;
  /// If present, the forward of a block raises each element to the largest attention score of one query head
  /// of this rank, before a soft cap (see kernels::attention).
  Tensor max_scores_H;
};

}  // namespace dt::model
