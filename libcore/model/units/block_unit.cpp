#include "model/units/block_unit.hpp"

#include <algorithm>
#include <optional>

#include "kernels/elementwise.hpp"

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
      parallel_(shard.parallel_branches),
      shared_norm_(shard.shared_norm),
      attention_branch_(shard, attention_branch_form(shard), dtype),
      mlp_branch_(shard, feed_forward_branch_form(shard), dtype),
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
                                      rows * attention + attention_.exchange_bytes(batch, sequence));
  const std::size_t gradient = static_cast<std::size_t>(output_shape(batch, sequence).numel()) * element;
  // Memory for rows that arrive in chunks, for a tensor of all rows, and for rows that are not yet
  // summed.
  const std::size_t all_rows =
      sequence_parallel() ? 3 * rows * static_cast<std::size_t>(hidden_) * element : 0;
  const std::size_t gradients = (has_two_gradients() ? 2 : 1) * gradient;
  // The sum of the input and attention's branch. If only the backward needs a normalized output, that takes
  // as much, but there is nothing to recompute then.
  const std::size_t forward = parallel_ ? gradient : 0;
  const std::size_t recomputed = saves_all() ? 0 : recomputed_bytes(batch, sequence);
  const std::size_t auxiliary = auxiliary_losses_.size() * rows * sizeof(double);
  return std::max(gradients + widest, recomputed + forward) + all_rows + auxiliary;
}

std::size_t BlockUnit::recomputed_bytes(std::int64_t batch, std::int64_t sequence) const {
  BumpAllocator memory, recomputed;
  saved(memory, recomputed, batch, sequence);
  return recomputed.used_bytes();
}

std::size_t BlockUnit::backward_handoff_bytes(Device device, std::int64_t batch,
                                              std::int64_t sequence) const {
  BumpAllocator memory, handoff;
  Saved s = saved(memory, saves_all() ? memory : handoff, batch, sequence);
  add_backward_handoff(device, handoff, batch * sequence, {}, s);
  return handoff.used_bytes();
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
  Saved s = saved(to_save, saves_all() ? to_save : recomputed, B, T);
  if (!attention_branch_.form().normalises_input) s.attention.in_LC = x_LC;
  const ParamViews w = param_views(weights);
  Tensor x1_LC = s.x1_LC;
  if (parallel_ && y_LC) x1_LC = context.scratch().allocate(dtype_, x_LC.shape());
  attention_branch_.normalise_input(context, w.attention, x_LC, s.attention);
  attention_branch_.forward(context, w.attention, x_LC, x1_LC, s.attention,
                            [&](const Tensor& residual_LC, const Tensor& sum_LC) {
                              attention_.forward(context, micro_batch, w.attention.layer, s.attention.in_LC,
                                                 residual_LC, sum_LC, s.attention_layer);
                            });
  mlp_branch_.normalise_input(context, w.mlp, parallel_ ? x_LC : x1_LC, s.mlp);
  mlp_branch_.forward(
      context, w.mlp, x1_LC, y_LC, s.mlp, [&](const Tensor& residual_LC, const Tensor& sum_LC) {
        mlp_->forward(context, micro_batch, w.mlp.layer, s.mlp.in_LC, residual_LC, sum_LC, s.mlp_layer);
      });
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
    bring(s_.mlp.in_LC);
  }

  /// Makes the gather of the MLP's input follow the gather of its output's gradients.
  void follow_mlp(AsyncAllGather& dy_RC) {
    if (g_) dy_RC.set_next(*input_RC_);
  }

  OverlappedWork of_mlp_output() const {
    if (!g_) return {};
    return [this] {
      block_.mlp_->backward_output_weight(context_, g_->mlp.layer, s_.mlp.dout_RC, s_.mlp_layer);
    };
  }
  /// Computes the gradients of the MLP's input weights while the gradients of attention's output travel.
  void of_mlp_input(AsyncAllGather& dx1_RC) {
    if (!g_) return;
    dx1_RC.start_all();
    block_.mlp_->backward_input_weight(context_, g_->mlp.layer, input_RC_->all(), s_.mlp_layer);
    if (block_.shared_norm_) return;  // the rows are attention's input, too
    bring(s_.attention.in_LC);
    dx1_RC.set_next(*input_RC_);
  }
  OverlappedWork of_attention() {
    if (!g_) return {};
    return [this] {
      block_.attention_.backward_weight(context_, g_->attention.layer, *input_RC_, s_.attention.dout_RC,
                                        s_.attention_layer);
    };
  }
  void of_norms() const {
    if (!g_) return;
    block_.mlp_branch_.backward_weight(context_, g_->mlp, s_.mlp);
    block_.attention_branch_.backward_weight(context_, g_->attention, s_.attention);
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
  if (!attention_branch_.form().normalises_input) kernels::copy(context, x_LC, s.attention.in_LC);
  const Arena::Scope scope(context.scratch());
  const Tensor mlp_din_LC = context.scratch().allocate(dtype_, x_LC.shape());
  const Tensor attention_din_LC =
      has_two_gradients() ? context.scratch().allocate(dtype_, x_LC.shape()) : mlp_din_LC;
  const Tensor chunks_RC = all_rows_buffer(context, micro_batch);
  const Tensor mlp_dout_LC = mlp_branch_.output_gradient(context, w.mlp, dy_LC, mlp_din_LC, s.mlp);
  AsyncAllGather mlp_dout_RC = gradient_rows(context, mlp_dout_LC, chunks_RC, s.mlp.dout_RC);
  WeightGradients half(*this, context, micro_batch, s, grads);
  half.follow_mlp(mlp_dout_RC);
  mlp_->backward_input(context, micro_batch, w.mlp.layer, mlp_dout_RC, mlp_din_LC, s.mlp_layer,
                       half.of_mlp_output());
  // The gradient of x1. Of parallel branches it is that of x, less attention's part; with a shared norm
  // it is the feed-forward layer's part of the gradient of the norm's output.
  const Tensor& dx1_LC = has_two_gradients() ? mlp_din_LC : s.x1_LC;
  mlp_branch_.input_gradient(context, w.mlp, parallel_ ? x_LC : s.x1_LC, mlp_din_LC,
                             shared_norm_ ? Tensor() : dy_LC, dx1_LC, s.mlp);
  AsyncAllGather attention_dout_RC(mlp_dout_RC.all());
  if (!parallel_) {
    const Tensor dout_LC =
        attention_branch_.output_gradient(context, w.attention, dx1_LC, attention_din_LC, s.attention);
    attention_dout_RC = gradient_rows(context, dout_LC, chunks_RC, s.attention.dout_RC);
  }
  half.of_mlp_input(attention_dout_RC);
  attention_.backward_input(context, micro_batch, w.attention.layer, attention_dout_RC, attention_din_LC,
                            s.attention_layer, half.of_attention());
  if (shared_norm_) kernels::add(context, attention_din_LC, dx1_LC, attention_din_LC);
  attention_branch_.input_gradient(context, w.attention, x_LC, attention_din_LC,
                                   shared_norm_ ? dy_LC : dx1_LC, dx_LC, s.attention);
  half.of_norms();
}

void BlockUnit::backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                                std::span<const Tensor> grads, std::span<std::byte> saved_memory,
                                std::span<std::byte> handoff_memory) const {
  const Saved s = for_backward(context, saved_memory, handoff_memory, micro_batch, dy_LC);
  const Arena::Scope scope(context.scratch());
  WeightGradients half(*this, context, micro_batch, s, grads);
  half.of_mlp_output()();
  AsyncAllGather dout_RC(s.attention.dout_RC);
  half.of_mlp_input(dout_RC);
  half.of_attention()();
  half.of_norms();
}

void BlockUnit::recompute(const Context& context, const ParamViews& weights, const Tensor& x_LC,
                          const Saved& s) const {
  attention_branch_.normalise_input(context, weights.attention, x_LC, s.attention);
  mlp_branch_.normalise_input(context, weights.mlp, parallel_ ? x_LC : s.x1_LC, s.mlp);
  mlp_->recompute(context, weights.mlp.layer, s.mlp_layer);
}

Tensor BlockUnit::all_rows_buffer(const Context& context, const MicroBatch& micro_batch) const {
  if (!sequence_parallel()) return {};
  return context.scratch().allocate(dtype_, {micro_batch.batch * micro_batch.sequence, hidden_});
}

BlockUnit::Saved BlockUnit::saved(BumpAllocator& memory, BumpAllocator& recomputed, std::int64_t batch,
                                  std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence, local = ops_.shard().local_rows(rows);
  Saved s;
  if (!parallel_) s.x1_LC = memory.allocate(dtype_, {local, hidden_});
  s.attention = attention_branch_.saved(memory, recomputed, local);
  s.mlp = mlp_branch_.saved(memory, recomputed, local);
  if (!mlp_branch_.form().normalises_input) s.mlp.in_LC = shared_norm_ ? s.attention.in_LC : s.x1_LC;
  s.attention_layer = attention_.saved(memory, batch, sequence);
  s.mlp_layer = mlp_->saved(memory, recomputed, rows);
  return s;
}

void BlockUnit::add_backward_handoff(Device device, BumpAllocator& handoff, std::int64_t rows,
                                     const Tensor& dy_LC, Saved& s) const {
  const std::int64_t local = ops_.shard().local_rows(rows);
  // Returns memory for the gradient of a layer's output for all rows, given that of the branch.
  const auto output_gradient = [&](const ResidualBranch& branch, const Tensor& dbranch_LC,
                                   ResidualBranch::Saved& saved) {
    branch.add_backward_handoff(handoff, local, saved);
    if (sequence_parallel()) return handoff.allocate(dtype_, {rows, hidden_});
    return saved.out_LC ? saved.out_LC : dbranch_LC;
  };
  s.mlp.dout_RC = output_gradient(mlp_branch_, dy_LC, s.mlp);
  s.attention.dout_RC = parallel_ ? s.mlp.dout_RC : output_gradient(attention_branch_, s.x1_LC, s.attention);
  if (!attention_branch_.form().normalises_input)
    s.attention.in_LC = handoff.allocate(dtype_, {local, hidden_});
  if (const Tensor own = attention_.allocate_qkv_gradient(device, handoff, rows))
    s.attention_layer.dqkv_RE = own;
  mlp_->add_backward_handoff(device, handoff, rows, s.mlp_layer);
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
  add_backward_handoff(context.device(), handoff, B * T, dy_LC, s);
  return s;
}

AsyncAllGather BlockUnit::gradient_rows(const Context& context, const Tensor& local_LC,
                                        const Tensor& memory_RC, const Tensor& all_RC) const {
  if (!sequence_parallel()) return AsyncAllGather(all_RC);
  return AsyncAllGather(context, ops_, local_LC, memory_RC, all_RC);
}

BlockUnit::ParamViews BlockUnit::param_views(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
  const std::size_t attention = attention_branch_.num_norm_params() + attention_.num_params();
  return {attention_branch_.params(tensors.first(attention)), mlp_branch_.params(tensors.subspan(attention))};
}

}  // namespace dt::model
