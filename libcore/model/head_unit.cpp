#include "model/head_unit.hpp"

#include "kernels/cross_entropy.hpp"
#include "kernels/linear.hpp"

namespace dt::model {

HeadUnit::HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      vocabulary_(spec.vocabulary),
      dtype_(dtype),
      norm_(spec, dtype) {}

std::size_t HeadUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory({});
  saved(memory, batch * sequence);
  return memory.used_bytes();
}

void HeadUnit::forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x_RC, const Tensor& nll_R, std::span<std::byte> memory) const {
  check(weights);
  const Saved s = saved(memory, micro_batch);
  norm_.forward(context, weights.first(norm_.num_params()), x_RC, s.norm_RC, s.norm);
  kernels::linear(context, s.norm_RC, weights.back(), {}, {}, s.logits_RV);
  kernels::cross_entropy(context, s.logits_RV, micro_batch.labels_R, nll_R);
}

void HeadUnit::backward_input(const Context& context, const MicroBatch& micro_batch,
                              std::span<const Tensor> weights, const Tensor& x_RC, const Tensor&,
                              const Tensor& dx_RC, std::span<std::byte> memory) const {
  check(weights);
  const Saved s = saved(memory, micro_batch);
  Arena::Scope scope(context.scratch());
  const Tensor dnorm_RC = context.scratch().allocate(dtype_, x_RC.shape());
  const Tensor nll_R = context.scratch().allocate(DType::f64, {x_RC.dim(0)});
  kernels::cross_entropy_gradient(context, micro_batch.labels_R, micro_batch.loss_scale, nll_R, s.logits_RV);
  kernels::linear_backward_input(context, s.logits_RV, weights.back(), dnorm_RC);
  norm_.backward_input(context, weights.first(norm_.num_params()), x_RC, dnorm_RC, {}, dx_RC, s.norm);
}

void HeadUnit::backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor&,
                               const Tensor&, std::span<const Tensor> grads,
                               std::span<std::byte> memory) const {
  check(grads);
  const Saved s = saved(memory, micro_batch);
  kernels::linear_backward_weight(context, s.logits_RV, s.norm_RC, grads.back(), {});
  norm_.backward_weight(context, grads.first(norm_.num_params()), s.norm);
}

HeadUnit::Saved HeadUnit::saved(SavedMemory& memory, std::int64_t rows) const {
  Saved s;
  s.logits_RV = memory.take(dtype_, {rows, vocabulary_});
  s.norm_RC = memory.take(dtype_, {rows, hidden_});
  s.norm = norm_.saved(memory, rows);
  return s;
}

HeadUnit::Saved HeadUnit::saved(std::span<std::byte> memory, const MicroBatch& micro_batch) const {
  DT_CHECK(memory.data() != nullptr, "{}: no saved memory", unit_.name);
  SavedMemory parts(memory);
  return saved(parts, micro_batch.batch * micro_batch.sequence);
}

void HeadUnit::check(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
}

Tensor head_logits(const ModelSpec& spec, DType dtype, std::int64_t rows, std::span<std::byte> saved) {
  SavedMemory memory(saved);
  return memory.take(dtype, {rows, spec.vocabulary});
}

}  // namespace dt::model
