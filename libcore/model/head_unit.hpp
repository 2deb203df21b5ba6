#pragma once
// The final norm, the logits and the loss.
// Legend: R rows, L those of them that are this rank's (see Seam), C hidden, V vocabulary: this rank's part
// of it; P the same, padded where products on the device want that.

#include "model/norm_layer.hpp"
#include "model/seam.hpp"
#include "model/unit.hpp"

namespace dt::model {

/// Parameters: those of the final norm, then the head's matrix or, where it is tied, the token table.
///
/// Its forward goes over chunks of rows: logits, loss and, in training, the logits' gradient in their place,
/// and from that its part of the gradients of input and parameters, so that the logits of all rows are never
/// held. Of ranks that share the matrix each has some of its rows, the logits' columns: what each finds of a
/// row's sum of exponentials is gathered, so that no rank holds all logits of a row.
class HeadUnit final : public Unit {
 public:
  HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const Seam& seam);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return DType::f64; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  /// C elements a token: the gradient of the input.
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override;
  std::size_t handover_bytes(Device, std::int64_t, std::int64_t) const override { return 0; }
  /// The matrix, where products on the device want it padded. Of a chunk the logits, with rows as far apart
  /// as they want them, and the norm's output, statistics and gradient; the same gathered, labels, and the
  /// sums that ranks exchange.
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;
  bool has_gradients_in_forward() const override { return true; }

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& nll_R, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x_LC, const Tensor& dy, const Tensor& dx_LC, std::span<std::byte> saved,
                      std::span<std::byte> handover) const override;
  /// Does nothing: see forward.
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> handover) const override;

 private:
  struct Chunk {  // of a micro-batch's local rows [begin, end), and of all ranks' those at the same places
    std::int64_t local_rows, begin, end;
    Tensor x_LC;
    Tensor dx_LC;  // in training
  };
  void forward_chunk(const Context& context, const MicroBatch& micro_batch,
                     std::span<const Tensor> norm_weights, const Tensor& matrix_PC, const Tensor& nll_R,
                     std::span<const Tensor> grads, const Chunk& chunk) const;
  /// The matrix, or a copy of it with rows of zeros behind: the logits' padding and its gradient are then
  /// zeros, too, which the products may sum over. Nothing else sees them.
  Tensor padded_matrix(const Context& context, const Tensor& matrix_VC) const;
  /// Of the chunk's rows: writes nll and, in training, turns the logits into their gradient.
  void loss(const Context& context, const Tensor& labels_R, double loss_scale, const Tensor& nll_R,
            const Tensor& logits_RV, bool trains) const;
  std::size_t norm_bytes(std::int64_t rows) const;
  std::int64_t chunk_rows(Device device, std::int64_t rows) const;
  Tensor saved_gradient(const Context& context, std::span<std::byte> saved,
                        const MicroBatch& micro_batch) const;
  void check(std::span<const Tensor> tensors) const;

  UnitSpec unit_;
  std::int64_t hidden_;
  std::int64_t vocabulary_;  // of the model
  Part columns_;             // of the logits: this rank's
  DType dtype_;
  NormLayer norm_;
  const Seam& seam_;
};

}  // namespace dt::model
