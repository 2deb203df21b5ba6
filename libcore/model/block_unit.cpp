#include "model/block_unit.hpp"

#include "kernels/elementwise.hpp"

namespace dt::model {

BlockUnit::BlockUnit(const ModelSpec& spec, UnitSpec unit, DType dtype,
                     std::shared_ptr<const RotaryTables> rotary)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      dtype_(dtype),
      norm_(spec, dtype),
      attention_(spec, dtype, std::move(rotary)),
      mlp_(spec, dtype) {}

Shape BlockUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {batch * sequence, hidden_};
}

std::size_t BlockUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory({});
  saved(memory, batch, sequence);
  return memory.used_bytes();
}

void BlockUnit::forward(const Context& context, const MicroBatch& micro_batch,
                        std::span<const Tensor> weights, const Tensor& x_RC, const Tensor& y_RC,
                        std::span<std::byte> memory) const {
  const Saved s = saved(memory, micro_batch);
  const Parts w = parts(weights);
  norm_.forward(context, w.attention_norm, x_RC, s.attention_in_RC, s.attention_norm);
  attention_.forward(context, micro_batch, w.attention, s.attention_in_RC, s.x1_RC, s.attention);
  kernels::add(context, s.x1_RC, x_RC, s.x1_RC);
  norm_.forward(context, w.mlp_norm, s.x1_RC, s.mlp_in_RC, s.mlp_norm);
  mlp_.forward(context, w.mlp, s.mlp_in_RC, y_RC, s.mlp);
  kernels::add(context, y_RC, s.x1_RC, y_RC);
}

void BlockUnit::backward_input(const Context& context, const MicroBatch& micro_batch,
                               std::span<const Tensor> weights, const Tensor& x_RC, const Tensor& dy_RC,
                               const Tensor& dx_RC, std::span<std::byte> memory) const {
  const Saved s = saved(memory, micro_batch);
  const Parts w = parts(weights);
  Arena::Scope scope(context.scratch());
  const Tensor dnorm_RC = context.scratch().allocate(dtype_, x_RC.shape());

  mlp_.backward_input(context, w.mlp, dy_RC, dnorm_RC, s.mlp);
  norm_.backward_input(context, w.mlp_norm, s.x1_RC, dnorm_RC, dy_RC, s.x1_RC, s.mlp_norm);

  attention_.backward_input(context, micro_batch, w.attention, s.x1_RC, dnorm_RC, s.attention);
  norm_.backward_input(context, w.attention_norm, x_RC, dnorm_RC, s.x1_RC, dx_RC, s.attention_norm);
}

void BlockUnit::backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor&,
                                const Tensor& dy_RC, std::span<const Tensor> grads,
                                std::span<std::byte> memory) const {
  const Saved s = saved(memory, micro_batch);
  const Parts g = parts(grads);
  mlp_.backward_weight(context, g.mlp, s.mlp_in_RC, dy_RC, s.mlp);
  norm_.backward_weight(context, g.mlp_norm, s.mlp_norm);
  attention_.backward_weight(context, g.attention, s.attention_in_RC, s.x1_RC, s.attention);
  norm_.backward_weight(context, g.attention_norm, s.attention_norm);
}

BlockUnit::Saved BlockUnit::saved(SavedMemory& memory, std::int64_t batch, std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence;
  Saved s;
  s.attention_in_RC = memory.take(dtype_, {rows, hidden_});
  s.x1_RC = memory.take(dtype_, {rows, hidden_});
  s.mlp_in_RC = memory.take(dtype_, {rows, hidden_});
  s.attention_norm = norm_.saved(memory, rows);
  s.mlp_norm = norm_.saved(memory, rows);
  s.attention = attention_.saved(memory, batch, sequence);
  s.mlp = mlp_.saved(memory, rows);
  return s;
}

BlockUnit::Saved BlockUnit::saved(std::span<std::byte> memory, const MicroBatch& micro_batch) const {
  DT_CHECK(memory.data() != nullptr, "{}: no saved memory", unit_.name);
  SavedMemory parts(memory);
  return saved(parts, micro_batch.batch, micro_batch.sequence);
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
