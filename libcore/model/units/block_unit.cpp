#include "model/units/block_unit.hpp"

#include <algorithm>
#include <optional>

namespace dt::model {

BlockUnit::BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, SavedActivations saved_activations,
                     std::shared_ptr<const RotaryTables> rotary, const TensorParallelOps& ops)
    : BlockUnit(shard_spec(spec, ops.shard()), ops, std::move(unit), dtype, saved_activations,
                std::move(rotary)) {}

BlockUnit::BlockUnit(const ModelSpec& shard, const TensorParallelOps& ops, UnitSpec unit, DType dtype,
                     SavedActivations saved_activations, std::shared_ptr<const RotaryTables> rotary)
    : unit_(std::move(unit)),
      hidden_(shard.hidden),
      query_features_(shard.query_heads * shard.head_dim),
      dtype_(dtype),
      saved_activations_(saved_activations),
      ops_(ops),
      norm_(shard, statistics_dtype(dtype)),
      attention_(shard, unit_.layer, dtype, std::move(rotary), ops),
      mlp_(shard.feed_forward[unit_.layer]->make(shard, dtype, ops)),
      auxiliary_losses_(shard.feed_forward[unit_.layer]->auxiliary_losses(shard)) {}

Shape BlockUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {ops_.shard().local_rows(batch * sequence), hidden_};
}

std::size_t BlockUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  BumpAllocator memory, recomputed;
  saved(memory, saves_all() ? memory : recomputed, batch, sequence);
  return memory.used_bytes();
}

std::size_t BlockUnit::scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const {
  const auto rows = static_cast<std::size_t>(batch * sequence), element = dtype_bytes(dtype_);
  const auto attention =
      static_cast<std::size_t>(query_features_) * (element + dtype_bytes(statistics_dtype(dtype_)));
  const std::size_t widest = std::max(mlp_->scratch_bytes(device, batch * sequence),
                                      rows * attention + attention_.ring_bytes(batch, sequence));
  const std::size_t gradient = static_cast<std::size_t>(output_shape(batch, sequence).numel()) * element;
  // Memory for rows that arrive in chunks, for a tensor of all rows, and for rows that are not yet
  // summed.
  const std::size_t all_rows =
      sequence_parallel() ? 3 * rows * static_cast<std::size_t>(hidden_) * element : 0;
  const std::size_t recomputed = saves_all() ? 0 : recomputed_bytes(batch, sequence);
  const std::size_t auxiliary = auxiliary_losses_.size() * rows * sizeof(double);
  return std::max(gradient + widest, recomputed) + all_rows + auxiliary;
}

std::size_t BlockUnit::recomputed_bytes(std::int64_t batch, std::int64_t sequence) const {
  BumpAllocator memory, recomputed;
  saved(memory, recomputed, batch, sequence);
  return recomputed.used_bytes();
}

std::size_t BlockUnit::backward_handoff_bytes(Device device, std::int64_t batch,
                                              std::int64_t sequence) const {
  BumpAllocator count;
  for (int layer = 0; sequence_parallel() && layer < 2; ++layer)
    count.allocate(dtype_, {batch * sequence, hidden_});
  attention_.allocate_qkv_gradient(device, count, batch * sequence);
  FeedForward::Saved mlp;
  mlp_->add_backward_handoff(device, count, batch * sequence, mlp);
  return count.used_bytes() + (saves_all() ? 0 : recomputed_bytes(batch, sequence));
}

void BlockUnit::forward(const Context& context, const MicroBatch& micro_batch,
                        std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& y_LC,
                        std::span<std::byte> memory, std::span<const Tensor>) const {
  DT_CHECK(memory.data() != nullptr, "{}: no saved memory", unit_.name);
  const std::int64_t B = micro_batch.batch, T = micro_batch.sequence;
  Arena::Scope scope(context.scratch());
  Tensor transient;
  if (!saves_all())
    transient = context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(recomputed_bytes(B, T))});
  BumpAllocator to_save(context.device(), memory), recomputed(context.device(), transient.span_bytes());
  const Saved s = saved(to_save, saves_all() ? to_save : recomputed, B, T);
  const ParamViews w = param_views(weights);
  norm_.forward(context, w.attention_norm, x_LC, s.attention_in_LC, s.attention_norm);
  attention_.forward(context, micro_batch, w.attention, s.attention_in_LC, x_LC, s.x1_LC, s.attention);
  norm_.forward(context, w.mlp_norm, s.x1_LC, s.mlp_in_LC, s.mlp_norm);
  mlp_->forward(context, micro_batch, w.mlp, s.mlp_in_LC, s.x1_LC, y_LC, s.mlp);
}

/// Computes the gradients of weights in the order in which the backward reaches them. The gathers
/// of their operands, and their products, overlap with other exchanges. Does nothing without
/// gradients.
class BlockUnit::WeightGradients {
 public:
  WeightGradients(const BlockUnit& block, const Context& context, const MicroBatch& micro_batch,
                  const Saved& saved, std::span<const Tensor> grads)
      : block_(block), context_(context), s_(saved) {
    if (grads.empty()) return;
    g_ = block.param_views(grads);
    memory_RC_ = block.all_rows_buffer(context, micro_batch);
    bring(s_.mlp_in_LC);
  }

  /// Makes the gather of the MLP's input follow the gather of its output's gradients.
  void follow_mlp(AsyncAllGather& dy_RC) {
    if (g_) dy_RC.set_next(*input_RC_);
  }

  OverlappedWork of_mlp_output() const {
    if (!g_) return {};
    return [this] { block_.mlp_->backward_output_weight(context_, g_->mlp, s_.mlp_dy_RC, s_.mlp); };
  }
  /// Computes the gradients of the MLP's input weights while the gradients of attention's output travel.
  void of_mlp_input(AsyncAllGather& dx1_RC) {
    if (!g_) return;
    dx1_RC.start_all();
    block_.mlp_->backward_input_weight(context_, g_->mlp, input_RC_->all(), s_.mlp);
    bring(s_.attention_in_LC);
    dx1_RC.set_next(*input_RC_);
  }
  OverlappedWork of_attention() {
    if (!g_) return {};
    return [this] {
      block_.attention_.backward_weight(context_, g_->attention, *input_RC_, s_.attention_dy_RC,
                                        s_.attention);
    };
  }
  void of_norms() const {
    if (!g_) return;
    block_.norm_.backward_weight(context_, g_->mlp_norm, s_.mlp_norm);
    block_.norm_.backward_weight(context_, g_->attention_norm, s_.attention_norm);
  }

 private:
  /// Prepares a gather of the input that weights were multiplied with. A later call starts it.
  void bring(const Tensor& in_LC) {
    input_RC_ = block_.sequence_parallel() ? AsyncAllGather(context_, block_.ops_, in_LC, memory_RC_)
                                           : AsyncAllGather(in_LC);
  }

  const BlockUnit& block_;
  const Context& context_;
  const Saved& s_;
  std::optional<ParamViews> g_;
  Tensor memory_RC_;
  std::optional<AsyncAllGather> input_RC_;
};

void BlockUnit::backward_input(const Context& context, const MicroBatch& micro_batch,
                               std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& dy_LC,
                               const Tensor& dx_LC, std::span<std::byte> saved_memory,
                               std::span<std::byte> handoff_memory) const {
  backward(context, micro_batch, weights, x_LC, dy_LC, dx_LC, {}, saved_memory, handoff_memory);
}

void BlockUnit::backward(const Context& context, const MicroBatch& micro_batch,
                         std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& dy_LC,
                         const Tensor& dx_LC, std::span<const Tensor> grads,
                         std::span<std::byte> saved_memory, std::span<std::byte> handoff_memory) const {
  const Saved s = for_backward(context, saved_memory, handoff_memory, micro_batch, dy_LC);
  const ParamViews w = param_views(weights);
  if (!saves_all()) recompute(context, w, x_LC, s);
  const Arena::Scope scope(context.scratch());
  const Tensor dnorm_LC = context.scratch().allocate(dtype_, x_LC.shape());
  const Tensor chunks_RC = all_rows_buffer(context, micro_batch);
  AsyncAllGather dy_RC = gradient_rows(context, dy_LC, chunks_RC, s.mlp_dy_RC);
  WeightGradients half(*this, context, micro_batch, s, grads);
  half.follow_mlp(dy_RC);
  mlp_->backward_input(context, micro_batch, w.mlp, dy_RC, dnorm_LC, s.mlp, half.of_mlp_output());
  const Tensor& dx1_LC = s.x1_LC;
  norm_.backward_input(context, w.mlp_norm, s.x1_LC, dnorm_LC, dy_LC, dx1_LC, s.mlp_norm);
  AsyncAllGather dx1_RC = gradient_rows(context, dx1_LC, chunks_RC, s.attention_dy_RC);
  half.of_mlp_input(dx1_RC);
  attention_.backward_input(context, micro_batch, w.attention, dx1_RC, dnorm_LC, s.attention,
                            half.of_attention());
  norm_.backward_input(context, w.attention_norm, x_LC, dnorm_LC, dx1_LC, dx_LC, s.attention_norm);
  half.of_norms();
}
void BlockUnit::backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                                std::span<const Tensor> grads, std::span<std::byte> saved_memory,
                                std::span<std::byte> handoff_memory) const {
  const Saved s = for_backward(context, saved_memory, handoff_memory, micro_batch, dy_LC);
  const Arena::Scope scope(context.scratch());
  WeightGradients half(*this, context, micro_batch, s, grads);
  half.of_mlp_output()();
  AsyncAllGather dx1_RC(s.attention_dy_RC);
  half.of_mlp_input(dx1_RC);
  half.of_attention()();
  half.of_norms();
}

void BlockUnit::recompute(const Context& context, const ParamViews& weights, const Tensor& x_LC,
                          const Saved& s) const {
  norm_.forward(context, weights.attention_norm, x_LC, s.attention_in_LC, s.attention_norm);
  norm_.forward(context, weights.mlp_norm, s.x1_LC, s.mlp_in_LC, s.mlp_norm);
  mlp_->recompute(context, weights.mlp, s.mlp);
}

Tensor BlockUnit::all_rows_buffer(const Context& context, const MicroBatch& micro_batch) const {
  if (!sequence_parallel()) return {};
  return context.scratch().allocate(dtype_, {micro_batch.batch * micro_batch.sequence, hidden_});
}

BlockUnit::Saved BlockUnit::saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t batch,
                                  std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence, local = ops_.shard().local_rows(rows);
  Saved s;
  s.x1_LC = memory.allocate(dtype_, {local, hidden_});
  s.attention_in_LC = recomputed.allocate(dtype_, {local, hidden_});
  s.mlp_in_LC = recomputed.allocate(dtype_, {local, hidden_});
  s.attention_norm = norm_.saved(memory, local);
  s.mlp_norm = norm_.saved(memory, local);
  s.attention = attention_.saved(memory, batch, sequence);
  s.mlp = mlp_->saved(memory, recomputed, rows);
  return s;
}

BlockUnit::Saved BlockUnit::for_backward(const Context& context, std::span<std::byte> saved_memory,
                                         std::span<std::byte> handoff_memory, const MicroBatch& micro_batch,
                                         const Tensor& dy_LC) const {
  const std::int64_t B = micro_batch.batch, T = micro_batch.sequence;
  DT_CHECK(
      saved_memory.data() && (handoff_memory.data() || backward_handoff_bytes(context.device(), B, T) == 0),
      "{}: no memory", unit_.name);
  BumpAllocator to_save(context.device(), saved_memory), handoff(context.device(), handoff_memory);
  Saved s = saved(to_save, saves_all() ? to_save : handoff, B, T);
  s.mlp_dy_RC = sequence_parallel() ? handoff.allocate(dtype_, {B * T, hidden_}) : dy_LC;
  s.attention_dy_RC = sequence_parallel() ? handoff.allocate(dtype_, {B * T, hidden_}) : s.x1_LC;
  if (const Tensor own = attention_.allocate_qkv_gradient(context.device(), handoff, B * T))
    s.attention.dqkv_RE = own;
  mlp_->add_backward_handoff(context.device(), handoff, B * T, s.mlp);
  return s;
}

AsyncAllGather BlockUnit::gradient_rows(const Context& context, const Tensor& local_LC,
                                        const Tensor& memory_RC, const Tensor& all_RC) const {
  if (!sequence_parallel()) return AsyncAllGather(all_RC);
  return AsyncAllGather(context, ops_, local_LC, memory_RC, all_RC);
}

BlockUnit::ParamViews BlockUnit::param_views(std::span<const Tensor> tensors) const {
  const std::size_t norm = norm_.num_params();
  const std::size_t attention = attention_.num_params();
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
  return {tensors.first(norm), tensors.subspan(norm, attention), tensors.subspan(norm + attention, norm),
          tensors.subspan(2 * norm + attention)};
}

}  // namespace dt::model
