#include "model/head_unit.hpp"

#include <algorithm>

#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"

namespace dt::model {

namespace {

/// Logits at once: large enough that each pass over the matrix and its gradient serves many rows, small
/// beside a model. The faster products are, the more rows it takes until those passes are not what is waited
/// for.
std::int64_t logits_at_once(DType dtype) {
  constexpr std::int64_t Mi = std::int64_t{1} << 20;
  return (dtype_bytes(dtype) == 2 ? 50 : 16) * Mi;
}

}  // namespace

HeadUnit::HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      vocabulary_(spec.vocabulary),
      dtype_(dtype),
      norm_(spec, statistics_dtype(dtype)) {}

std::size_t HeadUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  SavedMemory memory;
  memory.take(dtype_, {batch * sequence, hidden_});
  return memory.used_bytes();
}

std::size_t HeadUnit::scratch_bytes(std::int64_t batch, std::int64_t sequence) const {
  const std::int64_t rows = chunk_rows(batch * sequence);
  return static_cast<std::size_t>(rows * (2 * hidden_ + vocabulary_)) * dtype_bytes(dtype_) +
         norm_bytes(rows);
}

std::size_t HeadUnit::norm_bytes(std::int64_t rows) const {
  SavedMemory count;
  norm_.saved(count, rows);
  return count.used_bytes();
}

void HeadUnit::forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x_RC, const Tensor& nll_R, std::span<std::byte> saved,
                       std::span<const Tensor> grads) const {
  check(weights);
  if (!grads.empty()) check(grads);
  DT_CHECK(!micro_batch.logits_RV || grads.empty(), "{}: logits are kept in evaluation only", unit_.name);
  const std::int64_t rows = x_RC.dim(0), step = chunk_rows(rows);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const std::int64_t end = std::min(begin + step, rows);
    const auto part = [&](const Tensor& tensor) { return tensor ? tensor.rows(begin, end) : Tensor(); };
    const Tensor dx_RC = grads.empty() ? Tensor() : saved_gradient(context, saved, micro_batch);
    const Chunk chunk{part(x_RC),  part(micro_batch.labels_R), part(nll_R), part(micro_batch.logits_RV),
                      part(dx_RC), micro_batch.loss_scale};
    forward_chunk(context, weights, grads, chunk);
  }
}

void HeadUnit::forward_chunk(const Context& context, std::span<const Tensor> weights,
                             std::span<const Tensor> grads, const Chunk& chunk) const {
  Arena& scratch = context.scratch();
  const Arena::Scope scope(scratch);
  const std::int64_t rows = chunk.x_RC.dim(0);
  SavedMemory memory(context.device(),
                     scratch.allocate(DType::u8, {static_cast<std::int64_t>(norm_bytes(rows))}).span_bytes());
  const NormLayer::Saved saved = norm_.saved(memory, rows);
  const auto norm_weights = weights.first(norm_.num_params());
  const Tensor norm_RC = scratch.allocate(dtype_, chunk.x_RC.shape());
  const Tensor logits_RV = chunk.logits_RV ? chunk.logits_RV : scratch.allocate(dtype_, {rows, vocabulary_});
  norm_.forward(context, norm_weights, chunk.x_RC, norm_RC, saved);
  kernels::linear(context, norm_RC, weights.back(), {}, {}, logits_RV);
  if (grads.empty()) return kernels::cross_entropy(context, logits_RV, chunk.labels_R, chunk.nll_R);

  kernels::cross_entropy_gradient(context, chunk.labels_R, chunk.loss_scale, chunk.nll_R, logits_RV);
  const Tensor dnorm_RC = scratch.allocate(dtype_, chunk.x_RC.shape());
  kernels::linear_backward_input(context, logits_RV, weights.back(), dnorm_RC);
  kernels::linear_backward_weight(context, logits_RV, norm_RC, grads.back(), {});
  norm_.backward_input(context, norm_weights, chunk.x_RC, dnorm_RC, {}, chunk.dx_RC, saved);
  norm_.backward_weight(context, grads.first(norm_.num_params()), saved);
}

void HeadUnit::backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor>,
                              const Tensor&, const Tensor&, const Tensor& dx_RC, std::span<std::byte> saved,
                              std::span<std::byte>) const {
  kernels::copy(context, saved_gradient(context, saved, micro_batch), dx_RC);
}

void HeadUnit::backward_weight(const Context&, const MicroBatch&, const Tensor&, std::span<const Tensor>,
                               std::span<std::byte>, std::span<std::byte>) const {}

std::int64_t HeadUnit::chunk_rows(std::int64_t rows) const {
  const std::int64_t most = std::max<std::int64_t>(64, logits_at_once(dtype_) / vocabulary_);
  const std::int64_t chunks = std::max<std::int64_t>(1, (rows + most - 1) / most);  // of nearly equal size
  return std::min(rows, ((rows + chunks - 1) / chunks + 15) / 16 * 16);
}

Tensor HeadUnit::saved_gradient(const Context& context, std::span<std::byte> saved,
                                const MicroBatch& micro_batch) const {
  DT_CHECK(saved.data() != nullptr, "{}: no saved memory", unit_.name);
  return SavedMemory(context.device(), saved)
      .take(dtype_, {micro_batch.batch * micro_batch.sequence, hidden_});
}

void HeadUnit::check(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
}

}  // namespace dt::model
