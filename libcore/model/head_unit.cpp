#include "model/head_unit.hpp"

#include <algorithm>

#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"

namespace dt::model {

namespace {

/// Large enough that each pass over the matrix and its gradient serves many rows, small beside a model.
constexpr std::int64_t logits_bytes = std::int64_t{32} << 20;

}  // namespace

HeadUnit::HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      vocabulary_(spec.vocabulary),
      dtype_(dtype),
      norm_(spec, statistics_dtype(dtype)) {}

std::size_t HeadUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory({});
  memory.take(dtype_, {batch * sequence, hidden_});
  return memory.used_bytes();
}

std::size_t HeadUnit::scratch_bytes(std::int64_t batch, std::int64_t sequence) const {
  const std::int64_t rows = batch * sequence;
  return static_cast<std::size_t>(2 * rows * hidden_ + chunk_rows(rows) * vocabulary_) * dtype_bytes(dtype_);
}

void HeadUnit::forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x_RC, const Tensor& nll_R, std::span<std::byte> saved,
                       std::span<const Tensor> grads) const {
  check(weights);
  Arena& scratch = context.scratch();
  Arena::Scope scope(scratch);
  SavedMemory count({});
  norm_.saved(count, x_RC.dim(0));
  SavedMemory memory(
      scratch.allocate(DType::u8, {static_cast<std::int64_t>(count.used_bytes())}).span_bytes());
  const NormLayer::Saved norm = norm_.saved(memory, x_RC.dim(0));
  const auto norm_weights = weights.first(norm_.num_params());
  const Tensor norm_RC = scratch.allocate(dtype_, x_RC.shape());
  norm_.forward(context, norm_weights, x_RC, norm_RC, norm);
  if (grads.empty()) return loss(context, micro_batch, weights.back(), norm_RC, nll_R, {}, {});

  check(grads);
  const Tensor dnorm_RC = scratch.allocate(dtype_, x_RC.shape());
  loss(context, micro_batch, weights.back(), norm_RC, nll_R, dnorm_RC, grads.back());
  norm_.backward_input(context, norm_weights, x_RC, dnorm_RC, {}, saved_gradient(saved, micro_batch), norm);
  norm_.backward_weight(context, grads.first(norm_.num_params()), norm);
}

void HeadUnit::loss(const Context& context, const MicroBatch& micro_batch, const Tensor& matrix_VC,
                    const Tensor& norm_RC, const Tensor& nll_R, const Tensor& dnorm_RC,
                    const Tensor& dmatrix_VC) const {
  const std::int64_t rows = norm_RC.dim(0), step = chunk_rows(rows);
  const Tensor& kept_RV = micro_batch.logits_RV;
  DT_CHECK(!kept_RV || !dnorm_RC, "{}: logits are kept in evaluation only", unit_.name);
  Tensor chunk_RV;
  if (!kept_RV) chunk_RV = context.scratch().allocate(dtype_, {step, vocabulary_});
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const std::int64_t end = std::min(begin + step, rows);
    const Tensor x = norm_RC.rows(begin, end), nll = nll_R.rows(begin, end);
    const Tensor labels = micro_batch.labels_R.rows(begin, end);
    const Tensor logits = kept_RV ? kept_RV.rows(begin, end) : chunk_RV.rows(0, end - begin);
    kernels::linear(context, x, matrix_VC, {}, {}, logits);
    if (!dnorm_RC) {
      kernels::cross_entropy(context, logits, labels, nll);
      continue;
    }
    kernels::cross_entropy_gradient(context, labels, micro_batch.loss_scale, nll, logits);
    kernels::linear_backward_input(context, logits, matrix_VC, dnorm_RC.rows(begin, end));
    kernels::linear_backward_weight(context, logits, x, dmatrix_VC, {});
  }
}

void HeadUnit::backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor>,
                              const Tensor&, const Tensor&, const Tensor& dx_RC, std::span<std::byte> saved,
                              std::span<std::byte>) const {
  kernels::copy(context, saved_gradient(saved, micro_batch), dx_RC);
}

void HeadUnit::backward_weight(const Context&, const MicroBatch&, const Tensor&, const Tensor&,
                               std::span<const Tensor>, std::span<std::byte>, std::span<std::byte>) const {}

std::int64_t HeadUnit::chunk_rows(std::int64_t rows) const {
  const std::int64_t row_bytes = vocabulary_ * static_cast<std::int64_t>(dtype_bytes(dtype_));
  const std::int64_t most = std::max<std::int64_t>(64, logits_bytes / row_bytes);
  const std::int64_t chunks = std::max<std::int64_t>(1, (rows + most - 1) / most);  // of nearly equal size
  return std::min(rows, ((rows + chunks - 1) / chunks + 15) / 16 * 16);
}

Tensor HeadUnit::saved_gradient(std::span<std::byte> saved, const MicroBatch& micro_batch) const {
  DT_CHECK(saved.data() != nullptr, "{}: no saved memory", unit_.name);
  return SavedMemory(saved).take(dtype_, {micro_batch.batch * micro_batch.sequence, hidden_});
}

void HeadUnit::check(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
}

}  // namespace dt::model
