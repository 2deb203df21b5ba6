#include "model/attention_layer.hpp"

#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "model/joined.hpp"

namespace dt::model {

RotaryTables::RotaryTables(const ModelSpec& spec, DType dtype) {
  if (spec.position != Position::rotary) return;
  const Shape shape{spec.max_positions, spec.head_dim / 2};
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype);
  memory = Buffer({}, 2 * bytes);
  cos_PD2 = Tensor(memory.data(), dtype, shape);
  sin_PD2 = Tensor(memory.data() + bytes, dtype, shape);
  kernels::rotary_tables(spec.rotary_theta, cos_PD2, sin_PD2);
}

AttentionLayer::AttentionLayer(const ModelSpec& spec, DType dtype, std::shared_ptr<const RotaryTables> rotary)
    : query_heads_(spec.query_heads),
      key_value_heads_(spec.key_value_heads),
      head_dim_(spec.head_dim),
      bias_(spec.attention_bias),
      dtype_(dtype),
      rotary_(std::move(rotary)) {}

AttentionLayer::Saved AttentionLayer::saved(SavedMemory& memory, std::int64_t batch,
                                            std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence;
  Saved s;
  s.qkv_RE = memory.take(dtype_, {rows, (query_heads_ + 2 * key_value_heads_) * head_dim_});
  s.y_RQ = memory.take(dtype_, {rows, query_heads_ * head_dim_});
  s.lse_BHT = memory.take(dtype_, {batch, query_heads_, sequence});
  return s;
}

void AttentionLayer::forward(const Context& context, const MicroBatch& micro_batch,
                             std::span<const Tensor> weights, const Tensor& x_RC, const Tensor& y_RC,
                             const Saved& saved) const {
  const Params w = params(weights);
  kernels::linear(context, x_RC, w.qkv_weight_EC, w.qkv_bias_E, saved.qkv_RE);
  rotate(context, micro_batch, false, saved.qkv_RE);
  kernels::attention(context, shape(micro_batch.batch, micro_batch.sequence), {}, saved.qkv_RE, saved.y_RQ,
                     saved.lse_BHT);
  kernels::linear(context, saved.y_RQ, w.output_weight_CQ, w.output_bias_C, y_RC);
}

void AttentionLayer::backward_input(const Context& context, const MicroBatch& micro_batch,
                                    std::span<const Tensor> weights, const Tensor& dy_RC, const Tensor& dx_RC,
                                    const Saved& saved) const {
  const Params w = params(weights);
  Arena::Scope scope(context.scratch());
  const Tensor dheads_RQ = context.scratch().allocate(dtype_, saved.y_RQ.shape());
  const Tensor dqkv_RE = context.scratch().allocate(dtype_, saved.qkv_RE.shape());
  kernels::linear_backward_input(context, dy_RC, w.output_weight_CQ, dheads_RQ);
  kernels::attention_backward(context, shape(micro_batch.batch, micro_batch.sequence), {}, dheads_RQ,
                              saved.qkv_RE, saved.y_RQ, saved.lse_BHT, dqkv_RE);
  rotate(context, micro_batch, true, dqkv_RE);
  kernels::linear_backward_input(context, dqkv_RE, w.qkv_weight_EC, dx_RC);
  kernels::copy(context, dqkv_RE, saved.qkv_RE);
}

void AttentionLayer::backward_weight(const Context& context, std::span<const Tensor> grads,
                                     const Tensor& x_RC, const Tensor& dy_RC, const Saved& saved) const {
  const Params g = params(grads);
  kernels::linear_backward_weight(context, dy_RC, saved.y_RQ, g.output_weight_CQ, g.output_bias_C);
  kernels::linear_backward_weight(context, saved.qkv_RE, x_RC, g.qkv_weight_EC, g.qkv_bias_E);
}

AttentionLayer::Params AttentionLayer::params(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == num_params(), "{} tensors for {} parameters", tensors.size(), num_params());
  if (!bias_) return {joined(tensors.first(3)), {}, tensors[3], {}};
  return {joined(tensors.first(3)), joined(tensors.subspan(3, 3)), tensors[6], tensors[7]};
}

kernels::AttentionShape AttentionLayer::shape(std::int64_t batch, std::int64_t sequence) const {
  return {batch, sequence, query_heads_, key_value_heads_, head_dim_};
}

void AttentionLayer::rotate(const Context& context, const MicroBatch& micro_batch, bool inverse,
                            const Tensor& qkv_RE) const {
  if (!rotary_->cos_PD2) return;
  kernels::rotary(context, shape(micro_batch.batch, micro_batch.sequence), micro_batch.positions_R,
                  rotary_->cos_PD2, rotary_->sin_PD2, inverse, qkv_RE);
}

}  // namespace dt::model
