#pragma once
// Causal self-attention with its projections.
// Legend: B batch, T sequence, R = B·T rows, L this rank's rows where tensors are not split by
// features (see TensorParallelOps), C hidden, H query heads and K key-value heads of this rank, D head size,
// Q = H·D, E = (H + 2K)·D.

#include <memory>
#include <optional>
#include <span>

#include "kernels/attention.hpp"
#include "model/layers/bump_allocator.hpp"
#include "model/layers/micro_batch.hpp"
#include "model/layers/qk_norm_layer.hpp"
#include "model/layers/rotary_tables.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"

namespace dt::model {

/// Returns what a model does with products of queries and keys before its softmax.
kernels::ScoreTransform score_transform(const ModelSpec& spec);

/// Parameters: q, k, v weights, their biases if the model has them, output weight, output bias if
/// it has one, weights of the norms of queries and keys if it has them.
class AttentionLayer {
 public:
  /// Takes E + Q elements and H statistics a token, and what the norm of queries and keys takes.
  struct Saved {
    Tensor qkv_RE;   // normalized and rotated
    Tensor dqkv_RE;  // gradient of qkv, in its place unless the backward handoff has memory for it
    Tensor y_RQ;     // outputs of the heads
    Tensor lse_BHT;
    QkNormLayer::Saved qk_norm;
  };

  /// `shard` is the model as this rank holds it, `layer` the number of the layer. `ops` must outlive
  /// this object.
  AttentionLayer(const ModelSpec& shard, std::int64_t layer, DType dtype,
                 std::shared_ptr<const RotaryTables> rotary, const TensorParallelOps& ops);
  std::size_t num_params() const {
    return 4 + (qkv_bias_ ? 3 : 0) + (output_bias_ ? 1 : 0) + (qk_norm_ ? QkNormLayer::num_params() : 0);
  }
  Saved saved(BumpAllocator& memory, std::int64_t batch, std::int64_t sequence) const;
  /// Takes memory for dqkv from `backward_handoff`, which backward_input passes to backward_weight. Returns
  /// an absent tensor if dqkv overwrites qkv.
  Tensor allocate_qkv_gradient(Device device, BumpAllocator& backward_handoff, std::int64_t rows) const;
  /// Returns the bytes of scratch memory that exchanges take: the travelling keys and values of ring
  /// attention, or the sums over ranks of a norm of queries and keys, which come before or after these.
  std::size_t exchange_bytes(std::int64_t batch, std::int64_t sequence) const;

  /// Computes y = residual + the layer's output. If y is absent, computes only `saved`.
  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x_LC, const Tensor& residual_LC, const Tensor& y_LC, const Saved& saved) const;
  /// Overwrites dx. Calls `overlapped_work` while the ranks' parts of dx are being summed.
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      AsyncAllGather& dy_RC, const Tensor& dx_LC, const Saved& saved,
                      const OverlappedWork& overlapped_work) const;
  void backward_weight(const Context& context, std::span<const Tensor> grads, AsyncAllGather& x_RC,
                       const Tensor& dy_RC, const Saved& saved) const;

 private:
  struct Params {  // views of the weights or of the gradients
    Tensor qkv_weight_EC, qkv_bias_E, output_weight_CQ, output_bias_C;
    std::span<const Tensor> qk_norm;
  };
  Params params(std::span<const Tensor> tensors) const;
  /// Returns the first key that each row sees, given the micro-batch and the window. The result is
  /// the micro-batch's first_R, which may be absent, or a tensor in scratch memory.
  Tensor first_visible(const Context& context, const MicroBatch& micro_batch) const;
  bool is_ring() const { return ops_.shard().context_size > 1; }
  std::int64_t packed_features() const { return (query_heads_ + 2 * key_value_heads_) * head_dim_; }  // E
  kernels::AttentionShape shape(std::int64_t batch, std::int64_t sequence) const;
  void rotate(const Context& context, const MicroBatch& micro_batch, bool inverse,
              const Tensor& qkv_RE) const;

  std::int64_t query_heads_;
  std::int64_t key_value_heads_;
  std::int64_t head_dim_;
  kernels::ScoreTransform scores_;
  bool qkv_bias_;
  bool output_bias_;
  std::optional<std::int64_t> window_;
  DType dtype_;
  std::shared_ptr<const RotaryTables> rotary_;
  const TensorParallelOps& ops_;
  std::optional<QkNormLayer> qk_norm_;
};

}  // namespace dt::model
