#pragma once
// A residual block of two branches, one after the other: x1 = x + attention(x), y = x1 + feed_forward(x1);
// or parallel: y = x + attention(x) + feed_forward(x). A branch has norms on its input, its output or both
// (see ResidualBranch).
// Legend: R rows, L this rank's rows where tensors are not split by features (see TensorParallelOps), C
// hidden.

#include "model/layers/attention_layer.hpp"
#include "model/layers/feed_forward.hpp"
#include "model/layers/residual_branch.hpp"
#include "model/units/unit.hpp"

namespace dt::model {

/// Parameters: attention's branch's, then the feed-forward branch's.
class BlockUnit final : public Unit {
 public:
  BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, SavedActivations saved_activations,
            std::shared_ptr<const RotaryTables> rotary, const TensorParallelOps& ops);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return dtype_; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  /// Returns the bytes saved from forward for the backward. A token takes 3C + (2H + 2K)·D elements,
  /// G + F of an MLP, and H + 2 (H + 4 with layer norm) statistics: 15C and H + 4 for GPT-2. If
  /// only matmuls are saved, 2C + F fewer: 9C. In addition, the norms' gradients take 2C (4C with
  /// layer norm) statistics once. Heads and features are this rank's. The 3C elements and the
  /// norms' statistics are of this rank's rows. That is so of branches that are one after the other with
  /// norms on their inputs. Parallel branches take C fewer, and C fewer again with a shared norm. A norm on
  /// an output in place of one on an input takes as much. A norm on both takes C and its own statistics
  /// more.
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override;
  /// Returns the bytes that backward_input passes to backward_weight. If only matmuls are saved,
  /// recomputed activations take 2C + F elements a token. If ranks divide rows, the gathered
  /// gradients of the two layers' outputs take 2C, those of parallel branches C. The gradients of queries,
  /// keys and values take (H + 2K)·D if kernels are faster with separate memory for them. An input of
  /// attention that is not normalized takes C, and so does the gradient of a scaled output that is not
  /// normalized. All other gradients overwrite the tensors that they are gradients of.
  std::size_t backward_handoff_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;

  /// Returns the scratch bytes: gradients within the block and attention's sum of the queries'
  /// gradients, or the activations that forward does not save, whichever is more. If ranks divide
  /// rows, gathered rows and rows that are not yet summed are added. So is the memory of auxiliary
  /// losses' terms.
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;
  std::vector<AuxiliaryLoss> auxiliary_losses() const override { return auxiliary_losses_; }

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& y_LC, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override;
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x_LC, const Tensor& dy_LC, const Tensor& dx_LC,
                      std::span<std::byte> saved, std::span<std::byte> backward_handoff) const override;
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> backward_handoff) const override;
  void backward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                const Tensor& x_LC, const Tensor& dy_LC, const Tensor& dx_LC, std::span<const Tensor> grads,
                std::span<std::byte> saved, std::span<std::byte> backward_handoff) const override;

 private:
  BlockUnit(const ModelSpec& shard, const TensorParallelOps& ops, UnitSpec unit, DType dtype,
            SavedActivations saved_activations, std::shared_ptr<const RotaryTables> rotary);

  struct Saved {
    /// The input of the second of two branches. If it is normalized, the backward replaces it by its
    /// gradient.
    Tensor x1_LC;
    ResidualBranch::Saved attention, mlp;
    AttentionLayer::Saved attention_layer;
    FeedForward::Saved mlp_layer;
  };
  class WeightGradients;
  struct ParamViews {  // views of the weights or of the gradients
    ResidualBranch::Params attention, mlp;
  };
  bool saves_all() const { return saved_activations_ == SavedActivations::all; }
  bool sequence_parallel() const { return ops_.shard().sequence_parallel; }
  /// Returns whether the backward needs x1 or the gradient of parallel branches' input beside that of a
  /// layer's input.
  bool has_two_gradients() const { return parallel_ || !attention_branch_.form().normalises_input; }
  std::size_t recomputed_bytes(std::int64_t batch, std::int64_t sequence) const;
  /// Lays out the saved tensors. Those that can be recomputed from the others come from `recomputed`.
  Saved saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t batch,
              std::int64_t sequence) const;
  /// Lays out what backward_input passes to backward_weight beside saved tensors.
  void add_backward_handoff(Device device, BumpAllocator& backward_handoff, std::int64_t rows,
                            const Tensor& dy_LC, Saved& saved) const;
  /// Lays out the saved tensors for the backward. If only matmuls are saved, the recomputed tensors
  /// are in the backward handoff.
  Saved for_backward(const Context& context, std::span<std::byte> saved,
                     std::span<std::byte> backward_handoff, const MicroBatch& micro_batch,
                     const Tensor& dy_LC) const;
  /// Recomputes the outputs of norms and activations, if only matmuls are saved.
  void recompute(const Context& context, const ParamViews& weights, const Tensor& x_LC, const Saved& s) const;
  /// Takes scratch memory for all rows, if ranks divide rows.
  Tensor all_rows_buffer(const Context& context, const MicroBatch& micro_batch) const;
  /// Returns a gather of a gradient's rows from all ranks. It goes through `memory`, which has room
  /// for all rows.
  AsyncAllGather gradient_rows(const Context& context, const Tensor& local_LC, const Tensor& memory_RC,
                               const Tensor& all_RC) const;
  ParamViews param_views(std::span<const Tensor> tensors) const;

  UnitSpec unit_;
  std::int64_t hidden_;
  std::int64_t query_features_;  // this rank's
  DType dtype_;
  SavedActivations saved_activations_;
  const TensorParallelOps& ops_;
  bool parallel_;     // both branches read the block's input
  bool shared_norm_;  // the feed-forward layer reads what attention reads
  ResidualBranch attention_branch_, mlp_branch_;
  AttentionLayer attention_;
  std::unique_ptr<const FeedForward> mlp_;
  std::vector<AuxiliaryLoss> auxiliary_losses_;
};

}  // namespace dt::model
