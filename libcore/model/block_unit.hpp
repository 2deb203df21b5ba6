#pragma once
// A pre-norm residual block: x1 = x + attention(norm(x)); y = x1 + mlp(norm(x1)).
// Legend: R rows, L those of them that are this rank's where nothing is cut (see Seam), C hidden.

#include "model/attention_layer.hpp"
#include "model/mlp_layer.hpp"
#include "model/norm_layer.hpp"
#include "model/unit.hpp"

namespace dt::model {

/// Parameters: those of the first norm, of attention, of the second norm, of the MLP.
class BlockUnit final : public Unit {
 public:
  BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, Kept kept,
            std::shared_ptr<const RotaryTables> rotary, const Seam& seam);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return dtype_; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  /// A token takes 3C + (2H + 2K)·D elements, G + F of the MLP, and H + 2 (H + 4 with layer norm) of
  /// statistics: 15C and H + 4 for GPT-2. Where only matmuls are kept, 2C + F fewer: 9C. On top come 2C (4C)
  /// of statistics for the norms' gradients, once. Heads and features are this rank's; 3C and the norms'
  /// statistics are of its rows.
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override;
  /// What is made again: a token takes 2C + F elements where only matmuls are kept; and of divided rows the
  /// gradients of the two layers' outputs, gathered: 2C. Gradients lie over what they are gradients of, but
  /// for those of queries, keys and values where kernels are faster so: (H + 2K)·D.
  std::size_t handover_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;

  /// The gradients that flow within it; attention's sum of those of the queries; of divided rows what is
  /// gathered or not yet added up.
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& y_LC, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x_LC, const Tensor& dy_LC, const Tensor& dx_LC,
                      std::span<std::byte> saved, std::span<std::byte> handover) const override;
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> handover) const override;
  void backward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                const Tensor& x_LC, const Tensor& dy_LC, const Tensor& dx_LC, std::span<const Tensor> grads,
                std::span<std::byte> saved, std::span<std::byte> handover) const override;

 private:
  BlockUnit(const ModelSpec& share, const Seam& seam, UnitSpec unit, DType dtype, Kept kept,
            std::shared_ptr<const RotaryTables> rotary);

  struct Saved {
    Tensor x1_LC;                       // backward_input puts its gradient in its place
    Tensor attention_in_LC, mlp_in_LC;  // the norms' outputs
    NormLayer::Saved attention_norm, mlp_norm;
    AttentionLayer::Saved attention;
    MlpLayer::Saved mlp;
    Tensor attention_dy_RC, mlp_dy_RC;  // in the backward, the layers' output gradients of all rows
  };
  class WeightHalf;
  struct Parts {  // of the weights or of the gradients
    std::span<const Tensor> attention_norm, attention, mlp_norm, mlp;
  };
  bool keeps_everything() const { return kept_ == Kept::everything; }
  bool divides_rows() const { return seam_.share().divides_rows; }
  std::size_t remade_bytes(std::int64_t batch, std::int64_t sequence) const;
  /// What can be made again from the rest comes from `remade`.
  Saved saved(SavedMemory& memory, SavedMemory& remade, std::int64_t batch, std::int64_t sequence) const;
  /// As the backward has it: what is remade lies in the handover where only matmuls are kept, and so do
  /// gradients of all rows where rows are divided.
  Saved for_backward(const Context& context, std::span<std::byte> saved, std::span<std::byte> handover,
                     const MicroBatch& micro_batch, const Tensor& dy_LC) const;
  /// Norms and activations, where only matmuls are kept.
  void make_again(const Context& context, const Parts& weights, const Tensor& x_LC, const Saved& s) const;
  /// From scratch, where rows are divided.
  Tensor memory_for_all_rows(const Context& context, const MicroBatch& micro_batch) const;
  /// A gradient of all rows, through memory for as many.
  ArrivingRows gradient_rows(const Context& context, const Tensor& local_LC, const Tensor& memory_RC,
                             const Tensor& all_RC) const;
  Parts parts(std::span<const Tensor> tensors) const;

  UnitSpec unit_;
  std::int64_t hidden_;
  std::int64_t query_features_;  // of this rank, as the next
  std::int64_t mlp_features_;
  DType dtype_;
  Kept kept_;
  const Seam& seam_;
  NormLayer norm_;
  AttentionLayer attention_;
  MlpLayer mlp_;
};

}  // namespace dt::model
