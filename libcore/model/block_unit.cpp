#include "model/block_unit.hpp"

#include <algorithm>
#include <optional>

namespace dt::model {

BlockUnit::BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, Kept kept,
                     std::shared_ptr<const RotaryTables> rotary, const Seam& seam)
    : BlockUnit(share_of(spec, seam.share()), seam, std::move(unit), dtype, kept, std::move(rotary)) {}

BlockUnit::BlockUnit(const ModelSpec& share, const Seam& seam, UnitSpec unit, DType dtype, Kept kept,
                     std::shared_ptr<const RotaryTables> rotary)
    : unit_(std::move(unit)),
      hidden_(share.hidden),
      query_features_(share.query_heads * share.head_dim),
      mlp_features_(share.mlp_hidden),
      dtype_(dtype),
      kept_(kept),
      seam_(seam),
      norm_(share, statistics_dtype(dtype)),
      attention_(share, dtype, std::move(rotary), seam),
      mlp_(share, dtype, seam) {}

Shape BlockUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {seam_.share().local_rows(batch * sequence), hidden_};
}

std::size_t BlockUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory, remade;
  saved(memory, keeps_everything() ? memory : remade, batch, sequence);
  return memory.used_bytes();
}

std::size_t BlockUnit::scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const {
  const auto rows = static_cast<std::size_t>(batch * sequence), element = dtype_bytes(dtype_);
  const auto mlp_rows = static_cast<std::size_t>(MlpLayer::backward_rows(device, batch * sequence));
  const auto attention =
      static_cast<std::size_t>(query_features_) * (element + dtype_bytes(statistics_dtype(dtype_)));
  const std::size_t widest = std::max(mlp_rows * static_cast<std::size_t>(mlp_features_) * element,
                                      rows * attention + attention_.ring_bytes(batch, sequence));
  const std::size_t gradient = static_cast<std::size_t>(output_shape(batch, sequence).numel()) * element;
  // Memory for rows that arrive in chunks, for a tensor of all rows, and for rows that are not yet
  // summed.
  const std::size_t all_rows = divides_rows() ? 3 * rows * static_cast<std::size_t>(hidden_) * element : 0;
  const std::size_t remade = keeps_everything() ? 0 : remade_bytes(batch, sequence);
  return std::max(gradient + widest, remade) + all_rows;
}

std::size_t BlockUnit::remade_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory, remade;
  saved(memory, remade, batch, sequence);
  return remade.used_bytes();
}

std::size_t BlockUnit::handover_bytes(Device device, std::int64_t batch, std::int64_t sequence) const {
  SavedMemory count;
  for (int layer = 0; divides_rows() && layer < 2; ++layer) count.take(dtype_, {batch * sequence, hidden_});
  attention_.take_gradient(device, count, batch * sequence);
  return count.used_bytes() + (keeps_everything() ? 0 : remade_bytes(batch, sequence));
}

void BlockUnit::forward(const Context& context, const MicroBatch& micro_batch,
                        std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& y_LC,
                        std::span<std::byte> memory, std::span<const Tensor>) const {
  DT_CHECK(memory.data() != nullptr, "{}: no saved memory", unit_.name);
  const std::int64_t B = micro_batch.batch, T = micro_batch.sequence;
  Arena::Scope scope(context.scratch());
  Tensor transient;
  if (!keeps_everything())
    transient = context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(remade_bytes(B, T))});
  SavedMemory kept(context.device(), memory), remade(context.device(), transient.span_bytes());
  const Saved s = saved(kept, keeps_everything() ? kept : remade, B, T);
  const Parts w = parts(weights);
  norm_.forward(context, w.attention_norm, x_LC, s.attention_in_LC, s.attention_norm);
  attention_.forward(context, micro_batch, w.attention, s.attention_in_LC, x_LC, s.x1_LC, s.attention);
  norm_.forward(context, w.mlp_norm, s.x1_LC, s.mlp_in_LC, s.mlp_norm);
  mlp_.forward(context, w.mlp, s.mlp_in_LC, s.x1_LC, y_LC, s.mlp);
}

/// Computes the gradients of weights in the order in which the backward reaches them. The gathers
/// of their operands, and their products, overlap with other exchanges. Does nothing without
/// gradients.
class BlockUnit::WeightHalf {
 public:
  WeightHalf(const BlockUnit& block, const Context& context, const MicroBatch& micro_batch,
             const Saved& saved, std::span<const Tensor> grads)
      : block_(block), context_(context), s_(saved) {
    if (grads.empty()) return;
    g_ = block.parts(grads);
    memory_RC_ = block.memory_for_all_rows(context, micro_batch);
    bring(s_.mlp_in_LC);
  }

  /// Makes the gather of the MLP's input follow the gather of its output's gradients.
  void follow_mlp(ArrivingRows& dy_RC) {
    if (g_) dy_RC.set_next(*input_RC_);
  }

  Meanwhile of_mlp_down() const {
    if (!g_) return {};
    return [this] { block_.mlp_.backward_down_weight(context_, g_->mlp, s_.mlp_dy_RC, s_.mlp); };
  }
  /// Computes the MLP's up gradients while the gradients of attention's output travel.
  void of_mlp_up(ArrivingRows& dx1_RC) {
    if (!g_) return;
    dx1_RC.start_all();
    block_.mlp_.backward_up_weight(context_, g_->mlp, input_RC_->all(), s_.mlp);
    bring(s_.attention_in_LC);
    dx1_RC.set_next(*input_RC_);
  }
  Meanwhile of_attention() {
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
    input_RC_ =
        block_.divides_rows() ? ArrivingRows(context_, block_.seam_, in_LC, memory_RC_) : ArrivingRows(in_LC);
  }

  const BlockUnit& block_;
  const Context& context_;
  const Saved& s_;
  std::optional<Parts> g_;
  Tensor memory_RC_;
  std::optional<ArrivingRows> input_RC_;
};

void BlockUnit::backward_input(const Context& context, const MicroBatch& micro_batch,
                               std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& dy_LC,
                               const Tensor& dx_LC, std::span<std::byte> saved_memory,
                               std::span<std::byte> handover_memory) const {
  backward(context, micro_batch, weights, x_LC, dy_LC, dx_LC, {}, saved_memory, handover_memory);
}

void BlockUnit::backward(const Context& context, const MicroBatch& micro_batch,
                         std::span<const Tensor> weights, const Tensor& x_LC, const Tensor& dy_LC,
                         const Tensor& dx_LC, std::span<const Tensor> grads,
                         std::span<std::byte> saved_memory, std::span<std::byte> handover_memory) const {
  const Saved s = for_backward(context, saved_memory, handover_memory, micro_batch, dy_LC);
  const Parts w = parts(weights);
  if (!keeps_everything()) make_again(context, w, x_LC, s);
  const Arena::Scope scope(context.scratch());
  const Tensor dnorm_LC = context.scratch().allocate(dtype_, x_LC.shape());
  const Tensor chunks_RC = memory_for_all_rows(context, micro_batch);
  ArrivingRows dy_RC = gradient_rows(context, dy_LC, chunks_RC, s.mlp_dy_RC);
  WeightHalf half(*this, context, micro_batch, s, grads);
  half.follow_mlp(dy_RC);
  mlp_.backward_input(context, w.mlp, dy_RC, dnorm_LC, s.mlp, half.of_mlp_down());
  const Tensor& dx1_LC = s.x1_LC;
  norm_.backward_input(context, w.mlp_norm, s.x1_LC, dnorm_LC, dy_LC, dx1_LC, s.mlp_norm);
  ArrivingRows dx1_RC = gradient_rows(context, dx1_LC, chunks_RC, s.attention_dy_RC);
  half.of_mlp_up(dx1_RC);
  attention_.backward_input(context, micro_batch, w.attention, dx1_RC, dnorm_LC, s.attention,
                            half.of_attention());
  norm_.backward_input(context, w.attention_norm, x_LC, dnorm_LC, dx1_LC, dx_LC, s.attention_norm);
  half.of_norms();
}
void BlockUnit::backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                                std::span<const Tensor> grads, std::span<std::byte> saved_memory,
                                std::span<std::byte> handover_memory) const {
  const Saved s = for_backward(context, saved_memory, handover_memory, micro_batch, dy_LC);
  const Arena::Scope scope(context.scratch());
  WeightHalf half(*this, context, micro_batch, s, grads);
  half.of_mlp_down()();
  ArrivingRows dx1_RC(s.attention_dy_RC);
  half.of_mlp_up(dx1_RC);
  half.of_attention()();
  half.of_norms();
}

void BlockUnit::make_again(const Context& context, const Parts& weights, const Tensor& x_LC,
                           const Saved& s) const {
  norm_.forward(context, weights.attention_norm, x_LC, s.attention_in_LC, s.attention_norm);
  norm_.forward(context, weights.mlp_norm, s.x1_LC, s.mlp_in_LC, s.mlp_norm);
  mlp_.activate(context, s.mlp);
}

Tensor BlockUnit::memory_for_all_rows(const Context& context, const MicroBatch& micro_batch) const {
  if (!divides_rows()) return {};
  return context.scratch().allocate(dtype_, {micro_batch.batch * micro_batch.sequence, hidden_});
}

BlockUnit::Saved BlockUnit::saved(SavedMemory& memory, SavedMemory& remade, std::int64_t batch,
                                  std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence, local = seam_.share().local_rows(rows);
  Saved s;
  s.x1_LC = memory.take(dtype_, {local, hidden_});
  s.attention_in_LC = remade.take(dtype_, {local, hidden_});
  s.mlp_in_LC = remade.take(dtype_, {local, hidden_});
  s.attention_norm = norm_.saved(memory, local);
  s.mlp_norm = norm_.saved(memory, local);
  s.attention = attention_.saved(memory, batch, sequence);
  s.mlp = mlp_.saved(memory, remade, rows);
  return s;
}

BlockUnit::Saved BlockUnit::for_backward(const Context& context, std::span<std::byte> saved_memory,
                                         std::span<std::byte> handover_memory, const MicroBatch& micro_batch,
                                         const Tensor& dy_LC) const {
  const std::int64_t B = micro_batch.batch, T = micro_batch.sequence;
  DT_CHECK(saved_memory.data() && (handover_memory.data() || handover_bytes(context.device(), B, T) == 0),
           "{}: no memory", unit_.name);
  SavedMemory kept(context.device(), saved_memory), handed(context.device(), handover_memory);
  Saved s = saved(kept, keeps_everything() ? kept : handed, B, T);
  s.mlp_dy_RC = divides_rows() ? handed.take(dtype_, {B * T, hidden_}) : dy_LC;
  s.attention_dy_RC = divides_rows() ? handed.take(dtype_, {B * T, hidden_}) : s.x1_LC;
  if (const Tensor own = attention_.take_gradient(context.device(), handed, B * T)) s.attention.dqkv_RE = own;
  return s;
}

ArrivingRows BlockUnit::gradient_rows(const Context& context, const Tensor& local_LC, const Tensor& memory_RC,
                                      const Tensor& all_RC) const {
  if (!divides_rows()) return ArrivingRows(all_RC);
  return ArrivingRows(context, seam_, local_LC, memory_RC, all_RC);
}

BlockUnit::Parts BlockUnit::parts(std::span<const Tensor> tensors) const {
  const std::size_t norm = norm_.num_params();
  const std::size_t attention = attention_.num_params();
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
  return {tensors.first(norm), tensors.subspan(norm, attention), tensors.subspan(norm + attention, norm),
          tensors.subspan(2 * norm + attention)};
}

}  // namespace dt::model
