#pragma once
// QK-clip in a step: finds the largest attention score of each head, and scales weights (optim/qk_clip.hpp).
// Legend: H query heads of this rank, L layers of this rank.

#include <cstdint>
#include <span>
#include <vector>

#include "model/model_spec.hpp"
#include "optim/qk_clip.hpp"
#include "parallel/state/model_storage.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

namespace dt::train {

/// Collects the largest attention scores of a step, and scales weights by them.
/// Numerics: the largest score of a head has the same bits, however ranks and micro-batches divide the
/// tokens. Each element of a weight is scaled alone. So ranks with equal weights have equal weights
/// afterwards.
class QkClip {
 public:
  /// Context and storage must outlive the object. `threshold` is above 0.
  QkClip(const Context& context, parallel::ModelStorage& storage, const model::ModelSpec& spec,
         double threshold);

  void start_step();
  /// Returns the scores of a block, [H], for its forward to raise.
  Tensor max_scores(int unit) const;
  /// Returns the scores of all heads of all layers of the model, ordered by layer. They are −∞ for heads that
  /// this rank does not have. The maximum over all ranks gives the scores of the step.
  std::vector<double> all_scores() const;

  optim::AttentionScores summarize(std::span<const double> max_scores) const;
  /// Scales the masters of the heads whose scores are above the threshold, and rounds 16-bit weights from
  /// them. `max_scores` are the scores of the step, over all ranks. Call it after the optimizer's update.
  void scale_weights(std::span<const double> max_scores) const;

 private:
  /// A weight or bias of a layer's queries or keys, of which this rank updates some elements.
  struct Projection {
    const parallel::LocalParam* param;
    std::int64_t layer;
    bool is_of_queries;
  };
  void scale(const Projection& projection, std::span<const double> max_scores_of_layer) const;

  const Context& context_;
  parallel::ModelStorage& storage_;
  std::int64_t layers_, heads_, head_dim_;  // the model's
  std::int64_t local_heads_;                // H
  bool shares_keys_;
  double threshold_;
  std::vector<std::int64_t> block_layers_;  // the layers of this rank's blocks, ascending
  Buffer memory_;
  Tensor scores_LH_;
  std::vector<Projection> projections_;
};

}  // namespace dt::train
