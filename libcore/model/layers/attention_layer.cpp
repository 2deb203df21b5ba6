#include "model/layers/attention_layer.hpp"

#include <algorithm>

#include "kernels/linear.hpp"
#include "model/layers/ring_attention.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"

namespace dt::model {

kernels::ScoreTransform score_transform(const ModelSpec& spec) {
  return {spec.score_scale.value_or(0), spec.score_softcap.value_or(0)};
}

AttentionLayer::AttentionLayer(const ModelSpec& shard, std::int64_t layer, DType dtype,
                               std::shared_ptr<const RotaryTables> rotary, const TensorParallelOps& ops)
    : query_heads_(shard.query_heads),
      key_value_heads_(shard.key_value_heads),
      head_dim_(shard.head_dim),
      scores_(score_transform(shard)),
      qkv_bias_(shard.qkv_bias),
      output_bias_(shard.attention_output_bias),
      window_(shard.attention[layer].window),
      dtype_(dtype),
      rotary_(std::move(rotary)),
      ops_(ops) {
  if (shard.qk_norm != QkNorm::none) qk_norm_.emplace(shard, dtype, ops);
}

AttentionLayer::Saved AttentionLayer::saved(BumpAllocator& memory, std::int64_t batch,
                                            std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence;
  Saved s;
  s.qkv_RE = s.dqkv_RE = memory.allocate(dtype_, {rows, packed_features()});
  s.y_RQ = memory.allocate(dtype_, {rows, query_heads_ * head_dim_});
  s.lse_BHT = memory.allocate(statistics_dtype(dtype_), {batch, query_heads_, sequence});
  if (qk_norm_) s.qk_norm = qk_norm_->saved(memory, rows);
  return s;
}

Tensor AttentionLayer::allocate_qkv_gradient(Device device, BumpAllocator& backward_handoff,
                                             std::int64_t rows) const {
  const bool is_apart = !is_ring() && kernels::needs_separate_gradients(device, dtype_, head_dim_);
  return is_apart ? backward_handoff.allocate(dtype_, {rows, packed_features()}) : Tensor();
}

void AttentionLayer::forward(const Context& context, const MicroBatch& micro_batch,
                             std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& residual_LC,
                             const Tensor& y_LC, const Saved& saved) const {
  const Params w = params(weights);
  const Arena::Scope scope(context.scratch());
  column_parallel(context, ops_, x_LC, w.qkv_weight_EC, w.qkv_bias_E, saved.qkv_RE);
  if (qk_norm_) qk_norm_->forward(context, w.qk_norm, saved.qkv_RE, saved.qk_norm);
  rotate(context, micro_batch, false, saved.qkv_RE);
  const kernels::AttentionShape heads = shape(micro_batch.batch, micro_batch.sequence);
  const Tensor first_R = first_visible(context, micro_batch);
  if (is_ring())
    RingAttention(ops_, heads, first_R, window_)
        .forward(context, saved.qkv_RE, saved.y_RQ, saved.lse_BHT, micro_batch.max_scores_H);
  else
    kernels::attention(context, heads, {first_R}, kernels::packed(heads, saved.qkv_RE), saved.y_RQ,
                       saved.lse_BHT, micro_batch.max_scores_H);
  if (!y_LC) return;
  row_parallel(context, ops_, saved.y_RQ, w.output_weight_CQ, w.output_bias_C, residual_LC, y_LC);
}

void AttentionLayer::backward_input(const Context& context, const MicroBatch& micro_batch,
                                    std::span<const Tensor> weights, AsyncAllGather& dy_RC,
                                    const Tensor& dx_LC, const Saved& saved,
                                    const OverlappedWork& overlapped_work) const {
  const Params w = params(weights);
  Arena::Scope scope(context.scratch());
  const Tensor dheads_RQ = context.scratch().allocate(dtype_, saved.y_RQ.shape());
  row_parallel_backward_input(context, dy_RC, w.output_weight_CQ, dheads_RQ);
  const kernels::AttentionShape heads = shape(micro_batch.batch, micro_batch.sequence);
  const kernels::QueriesKeysValues qkv = kernels::packed(heads, saved.qkv_RE);
  const Tensor first_R = first_visible(context, micro_batch);
  if (is_ring())
    RingAttention(ops_, heads, first_R, window_)
        .backward(context, dheads_RQ, saved.qkv_RE, saved.y_RQ, saved.lse_BHT);
  else
    kernels::attention_backward(context, heads, {first_R}, dheads_RQ, qkv, saved.y_RQ, saved.lse_BHT,
                                {kernels::packed(heads, saved.dqkv_RE)});
  rotate(context, micro_batch, true, saved.dqkv_RE);
  if (qk_norm_) qk_norm_->backward_input(context, w.qk_norm, saved.dqkv_RE, saved.qk_norm);
  column_parallel_backward_input(context, ops_, saved.dqkv_RE, w.qkv_weight_EC, dx_LC, {}, overlapped_work);
}

void AttentionLayer::backward_weight(const Context& context, std::span<const Tensor> grads,
                                     AsyncAllGather& x_RC, const Tensor& dy_RC, const Saved& saved) const {
  const Params g = params(grads);
  row_parallel_backward_weight(context, ops_, dy_RC, saved.y_RQ, g.output_weight_CQ, g.output_bias_C);
  kernels::linear_backward_weight(context, saved.dqkv_RE, x_RC.all(), g.qkv_weight_EC, g.qkv_bias_E);
  if (qk_norm_) qk_norm_->backward_weight(context, g.qk_norm, saved.qk_norm);
}

AttentionLayer::Params AttentionLayer::params(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == num_params(), "{} tensors for {} parameters", tensors.size(), num_params());
  const std::size_t output = qkv_bias_ ? 6 : 3;
  return {fused_view(tensors.first(3)), qkv_bias_ ? fused_view(tensors.subspan(3, 3)) : Tensor{},
          tensors[output], output_bias_ ? tensors[output + 1] : Tensor{},
          tensors.last(qk_norm_ ? QkNormLayer::num_params() : 0)};
}

Tensor AttentionLayer::first_visible(const Context& context, const MicroBatch& micro_batch) const {
  const std::int64_t sequence = micro_batch.sequence, rows = micro_batch.batch * sequence;
  const TensorParallelShard& shard = ops_.shard();
  if (!window_ || *window_ >= sequence * shard.context_size) return micro_batch.first_R;
  const Tensor first_R = context.scratch().allocate(DType::i32, {rows});
  const int chunks = is_ring() ? Zigzag::num_chunks : 1;
  const Zigzag zigzag{sequence / chunks, shard.context_rank, shard.context_size};
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const auto part = [&](const Tensor& all) {
      return all ? all.rows(chunk * rows / chunks, (chunk + 1) * rows / chunks) : Tensor();
    };
    kernels::first_visible(context, sequence / chunks, is_ring() ? zigzag.position(chunk) : 0, *window_,
                           part(micro_batch.first_R), part(first_R));
  }
  return first_R;
}

std::size_t AttentionLayer::exchange_bytes(std::int64_t batch, std::int64_t sequence) const {
  const std::size_t ring = is_ring() ? RingAttention::scratch_bytes(shape(batch, sequence), dtype_) : 0;
  return std::max(ring, qk_norm_ ? qk_norm_->scratch_bytes(batch * sequence) : 0);
}

kernels::AttentionShape AttentionLayer::shape(std::int64_t batch, std::int64_t sequence) const {
  return {batch, sequence, query_heads_, key_value_heads_, head_dim_, scores_};
}

void AttentionLayer::rotate(const Context& context, const MicroBatch& micro_batch, bool inverse,
                            const Tensor& qkv_RE) const {
  const kernels::Rotation* rotation = rotary_->of_sequences(micro_batch.sequence * ops_.shard().context_size);
  if (!rotation) return;
  kernels::rotary(context, shape(micro_batch.batch, micro_batch.sequence), micro_batch.positions_R, *rotation,
                  inverse, qkv_RE);
}

}  // namespace dt::model
