#pragma once
// The final norm, the logits and the loss.
// Legend: R rows, L this rank's rows (see TensorParallelOps), C hidden, V this rank's shard of the
// vocabulary, P the same with padding, if products on the device need it.

#include "kernels/cross_entropy.hpp"
#include "model/layers/norm_layer.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "model/units/unit.hpp"

namespace dt::model {

/// The head of the decoder.
/// Parameters: the final norm's, then the head's matrix or, if it is tied, the token table.
///
/// Forward processes the rows in chunks, so that the logits of all rows never exist at once. For
/// each chunk it computes logits and loss. In training it also replaces the logits by their
/// gradient, and computes the chunk's gradients of input and parameters from that. Tensor-parallel
/// ranks divide the matrix by rows, and thus the logits by columns. The ranks gather their parts of
/// each row's sum of exponentials, so that no rank holds all logits of a row.
///
/// Logits are ModelSpec::logit_softcap's function of the products with the matrix, times
/// ModelSpec::logit_scale. The loss, and MicroBatch::logits_RV, have these final logits.
///
/// Z-loss keeps the logits from drifting: the auxiliary loss (log Σ e^logit)² of each target.
/// Source: Chowdhery et al. 2022 (PaLM), section 5.
class HeadUnit final : public Unit {
 public:
  /// `z_loss` is the coefficient of z-loss; 0: none.
  HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const TensorParallelOps& ops, double z_loss);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return DType::f64; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  /// Returns the bytes of the gradient of the input: C elements a token.
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override;
  std::size_t backward_handoff_bytes(Device, std::int64_t, std::int64_t) const override { return 0; }
  /// Returns the scratch bytes. If products on the device need a padded matrix, they include its
  /// copy. The rest is of one chunk. It has the logits at the pitch that products need, and the
  /// norm's output, statistics and gradient, also gathered over the ranks. It also has labels and
  /// the sums that ranks exchange.
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;
  bool has_gradients_in_forward() const override { return true; }
  std::vector<AuxiliaryLoss> auxiliary_losses() const override;

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& nll_R, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x_LC, const Tensor& dy, const Tensor& dx_LC, std::span<std::byte> saved,
                      std::span<std::byte> backward_handoff) const override;
  /// Does nothing: forward makes the gradients.
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> backward_handoff) const override;

 private:
  struct Chunk {  // local rows [begin, end) of a micro-batch, and all ranks' rows at the same places
    std::int64_t local_rows, begin, end;
    Tensor x_LC;
    Tensor dx_LC;  // present in training
  };
  void forward_chunk(const Context& context, const MicroBatch& micro_batch,
                     std::span<const Tensor> norm_weights, const Tensor& matrix_PC,
                     const kernels::TokenLosses& losses, std::span<const Tensor> grads,
                     const Chunk& chunk) const;
  /// Returns the matrix, or a copy of it padded with rows of zeros. The logits' padding and its
  /// gradient are then zeros, which the products may include in sums. Nothing else reads the
  /// padding.
  Tensor padded_matrix(const Context& context, const Tensor& matrix_VC) const;
  /// Writes the losses of the chunk's rows. In training it also turns the logits into the gradient of
  /// what they were before scale and cap.
  void loss(const Context& context, const Tensor& labels_R, double loss_scale,
            const kernels::TokenLosses& losses, const Tensor& logits_RV, bool trains) const;
  std::size_t norm_bytes(std::int64_t rows) const;
  std::int64_t chunk_rows(Device device, std::int64_t rows) const;
  Tensor saved_gradient(const Context& context, std::span<std::byte> saved,
                        const MicroBatch& micro_batch) const;
  void check(std::span<const Tensor> tensors) const;

  UnitSpec unit_;
  std::int64_t hidden_;
  std::int64_t vocabulary_;  // the model's, not this rank's part
  Range columns_;            // this rank's columns of the logits
  double logit_scale_;
  double logit_softcap_;  // 0: none
  double z_loss_;         // coefficient
  DType dtype_;
  NormLayer norm_;
  const TensorParallelOps& ops_;
};

}  // namespace dt::model
