#include "model/block_unit.hpp"

#include <algorithm>

namespace dt::model {

BlockUnit::BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, Kept kept,
                     std::shared_ptr<const RotaryTables> rotary)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      query_features_(spec.query_heads * spec.head_dim),
      mlp_features_(spec.mlp_hidden),
      dtype_(dtype),
      kept_(kept),
      norm_(spec, statistics_dtype(dtype)),
      attention_(spec, dtype, std::move(rotary)),
      mlp_(spec, dtype) {}

Shape BlockUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {batch * sequence, hidden_};
}

std::size_t BlockUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory, remade;
  saved(memory, keeps_everything() ? memory : remade, batch, sequence);
  return memory.used_bytes();
}

std::size_t BlockUnit::scratch_bytes(std::int64_t batch, std::int64_t sequence) const {
  const auto rows = static_cast<std::size_t>(batch * sequence), element = dtype_bytes(dtype_);
  const std::size_t mlp_rows = std::min(rows, static_cast<std::size_t>(MlpLayer::backward_rows));
  const auto attention =
      static_cast<std::size_t>(query_features_) * (element + dtype_bytes(statistics_dtype(dtype_)));
  const std::size_t widest =
      std::max(mlp_rows * static_cast<std::size_t>(mlp_features_) * element, rows * attention);
  const std::size_t backward = rows * static_cast<std::size_t>(hidden_) * element + widest;
  return keeps_everything() ? backward : std::max(backward, remade_bytes(batch, sequence));
}

std::size_t BlockUnit::remade_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory, remade;
  saved(memory, remade, batch, sequence);
  return remade.used_bytes();
}

std::size_t BlockUnit::handover_bytes(std::int64_t batch, std::int64_t sequence) const {
  return keeps_everything() ? 0 : remade_bytes(batch, sequence);
}

void BlockUnit::forward(const Context& context, const MicroBatch& micro_batch,
                        std::span<const Tensor> weights, const Tensor& x_RC, const Tensor& y_RC,
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
  norm_.forward(context, w.attention_norm, x_RC, s.attention_in_RC, s.attention_norm);
  attention_.forward(context, micro_batch, w.attention, s.attention_in_RC, x_RC, s.x1_RC, s.attention);
  norm_.forward(context, w.mlp_norm, s.x1_RC, s.mlp_in_RC, s.mlp_norm);
  mlp_.forward(context, w.mlp, s.mlp_in_RC, s.x1_RC, y_RC, s.mlp);
}

void BlockUnit::backward_input(const Context& context, const MicroBatch& micro_batch,
                               std::span<const Tensor> weights, const Tensor& x_RC, const Tensor& dy_RC,
                               const Tensor& dx_RC, std::span<std::byte> saved_memory,
                               std::span<std::byte> handover_memory) const {
  const Saved s = for_backward(context, saved_memory, handover_memory, micro_batch);
  const Parts w = parts(weights);
  if (!keeps_everything()) {
    norm_.forward(context, w.attention_norm, x_RC, s.attention_in_RC, s.attention_norm);
    norm_.forward(context, w.mlp_norm, s.x1_RC, s.mlp_in_RC, s.mlp_norm);
    mlp_.activate(context, s.mlp);
  }
  Arena::Scope scope(context.scratch());
  const Tensor dnorm_RC = context.scratch().allocate(dtype_, x_RC.shape());
  mlp_.backward_input(context, w.mlp, dy_RC, dnorm_RC, s.mlp);
  const Tensor& dx1_RC = s.x1_RC;
  norm_.backward_input(context, w.mlp_norm, s.x1_RC, dnorm_RC, dy_RC, dx1_RC, s.mlp_norm);
  attention_.backward_input(context, micro_batch, w.attention, dx1_RC, dnorm_RC, s.attention);
  norm_.backward_input(context, w.attention_norm, x_RC, dnorm_RC, dx1_RC, dx_RC, s.attention_norm);
}

void BlockUnit::backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_RC,
                                std::span<const Tensor> grads, std::span<std::byte> saved_memory,
                                std::span<std::byte> handover_memory) const {
  const Saved s = for_backward(context, saved_memory, handover_memory, micro_batch);
  const Parts g = parts(grads);
  mlp_.backward_weight(context, g.mlp, s.mlp_in_RC, dy_RC, s.mlp);
  norm_.backward_weight(context, g.mlp_norm, s.mlp_norm);
  const Tensor& dx1_RC = s.x1_RC;
  attention_.backward_weight(context, g.attention, s.attention_in_RC, dx1_RC, s.attention);
  norm_.backward_weight(context, g.attention_norm, s.attention_norm);
}

BlockUnit::Saved BlockUnit::saved(SavedMemory& memory, SavedMemory& remade, std::int64_t batch,
                                  std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence;
  Saved s;
  s.x1_RC = memory.take(dtype_, {rows, hidden_});
  s.attention_in_RC = remade.take(dtype_, {rows, hidden_});
  s.mlp_in_RC = remade.take(dtype_, {rows, hidden_});
  s.attention_norm = norm_.saved(memory, rows);
  s.mlp_norm = norm_.saved(memory, rows);
  s.attention = attention_.saved(memory, batch, sequence);
  s.mlp = mlp_.saved(memory, remade, rows);
  return s;
}

BlockUnit::Saved BlockUnit::for_backward(const Context& context, std::span<std::byte> saved_memory,
                                         std::span<std::byte> handover_memory,
                                         const MicroBatch& micro_batch) const {
  DT_CHECK(saved_memory.data() && (keeps_everything() || handover_memory.data()), "{}: no memory",
           unit_.name);
  SavedMemory kept(context.device(), saved_memory), handed(context.device(), handover_memory);
  return saved(kept, keeps_everything() ? kept : handed, micro_batch.batch, micro_batch.sequence);
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
