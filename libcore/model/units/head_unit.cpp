#include "model/units/head_unit.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "kernels/softcap.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"

namespace dt::model {

namespace {

/// Returns how many logits a chunk has: small compared with a model, but enough that each pass over
/// the matrix and its gradient serves many rows. The faster the products, the more rows a pass must
/// serve until it is no longer the bottleneck: thousands on a GPU. A chunk that fits in cache would
/// read the matrix many times as often.
std::int64_t logits_at_once(Device device, DType dtype) {
  constexpr std::int64_t Mi = std::int64_t{1} << 20;
  if (device != Device::host()) return 512 * Mi / static_cast<std::int64_t>(dtype_bytes(dtype));
  return (dtype_bytes(dtype) == 2 ? 50 : 16) * Mi;
}

}  // namespace

HeadUnit::HeadUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const TensorParallelOps& ops,
                   double z_loss)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      vocabulary_(spec.vocabulary),
      columns_(ops.shard().vocabulary_range(spec)),
      logit_scale_(spec.logit_scale),
      logit_softcap_(spec.logit_softcap.value_or(0)),
      z_loss_(z_loss),
      dtype_(dtype),
      norm_(spec, statistics_dtype(dtype)),
      ops_(ops) {}

Shape HeadUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {batch * sequence};
}

std::size_t HeadUnit::saved_bytes(std::int64_t batch, std::int64_t sequence) const {
  BumpAllocator memory;
  memory.allocate(dtype_, {ops_.shard().local_rows(batch * sequence), hidden_});
  return memory.used_bytes();
}

std::size_t HeadUnit::scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const {
  const TensorParallelShard& shard = ops_.shard();
  const std::int64_t local = chunk_rows(device, shard.local_rows(batch * sequence)),
                     rows = local * shard.num_row_ranks();
  const auto elements =
      static_cast<std::size_t>(rows * kernels::row_pitch(device, columns_.count) + 2 * local * hidden_ +
                               (shard.sequence_parallel ? 3 * rows * hidden_ : 0));
  const auto exchanged = static_cast<std::size_t>(shard.is_whole() ? 0 : 3 * rows * (shard.size + 1));
  const std::int64_t padded = kernels::padded_features(device, dtype_, columns_.count);
  const auto matrix = static_cast<std::size_t>(padded == columns_.count ? 0 : padded * hidden_);
  const std::size_t num_auxiliary = auxiliary_losses().size();
  const auto apart =
      shard.sequence_parallel
          ? static_cast<std::size_t>(rows) * (sizeof(std::int32_t) + (1 + num_auxiliary) * sizeof(double))
          : 0;
  const std::size_t auxiliary = num_auxiliary * static_cast<std::size_t>(batch * sequence) * sizeof(double);
  return (elements + matrix) * dtype_bytes(dtype_) + exchanged * sizeof(double) + apart + norm_bytes(local) +
         auxiliary;
}

std::vector<AuxiliaryLoss> HeadUnit::auxiliary_losses() const {
  if (z_loss_ == 0) return {};
  return {{.name = "z_loss", .coefficient = z_loss_, .is_of_targets = true}};
}

std::size_t HeadUnit::norm_bytes(std::int64_t rows) const {
  BumpAllocator count;
  norm_.saved(count, rows);
  return count.used_bytes();
}

void HeadUnit::forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                       const Tensor& x_LC, const Tensor& nll_R, std::span<std::byte> saved,
                       std::span<const Tensor> grads) const {
  check(weights);
  if (!grads.empty()) check(grads);
  DT_CHECK(!micro_batch.logits_RV || grads.empty(), "{}: logits are kept in evaluation only", unit_.name);
  const Tensor z_R =
      z_loss_ != 0 && micro_batch.auxiliary_AR ? micro_batch.auxiliary_AR.flat(0, nll_R.numel()) : Tensor();
  const Tensor dx_LC = grads.empty() ? Tensor() : saved_gradient(context, saved, micro_batch);
  const std::int64_t rows = x_LC.dim(0), step = chunk_rows(context.device(), rows);
  const Arena::Scope scope(context.scratch());
  const Tensor matrix_PC = micro_batch.logits_RV ? weights.back() : padded_matrix(context, weights.back());
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const std::int64_t end = std::min(begin + step, rows);
    forward_chunk(context, micro_batch, weights.first(norm_.num_params()), matrix_PC, {nll_R, z_R}, grads,
                  {rows, begin, end, x_LC.rows(begin, end), dx_LC ? dx_LC.rows(begin, end) : Tensor()});
  }
}

void HeadUnit::forward_chunk(const Context& context, const MicroBatch& micro_batch,
                             std::span<const Tensor> norm_weights, const Tensor& matrix_PC,
                             const kernels::TokenLosses& all, std::span<const Tensor> grads,
                             const Chunk& chunk) const {
  Arena& scratch = context.scratch();
  const Arena::Scope scope(scratch);
  const RowChunk rows(ops_.shard(), chunk.local_rows, chunk.begin, chunk.end);
  BumpAllocator memory(
      context.device(),
      scratch.allocate(DType::u8, {static_cast<std::int64_t>(norm_bytes(chunk.x_LC.dim(0)))}).span_bytes());
  const NormLayer::Saved saved = norm_.saved(memory, chunk.x_LC.dim(0));
  const Tensor norm_LC = scratch.allocate(dtype_, chunk.x_LC.shape());
  norm_.forward(context, norm_weights, chunk.x_LC, norm_LC, saved);
  AsyncAllGather norm_RC = all_gather_rows_async(context, ops_, norm_LC);
  const Tensor labels_R = rows.packed_buffer(context, micro_batch.labels_R);
  const kernels::TokenLosses losses(rows.packed_buffer(context, all.nll_R),
                                    rows.packed_buffer(context, all.squared_lse_R));
  Tensor logits_RP = rows.packed_buffer(context, micro_batch.logits_RV);
  if (!logits_RP) {
    const Shape pitched{rows.count(), kernels::row_pitch(context.device(), columns_.count)};
    logits_RP = scratch.allocate(dtype_, pitched).first_columns(matrix_PC.dim(0));
  }
  const Tensor logits_RV = logits_RP.first_columns(columns_.count);
  rows.pack(context, micro_batch.labels_R, labels_R);
  norm_RC.for_runs([&](std::int64_t begin, std::int64_t end, const Tensor& x_RC) {
    kernels::linear(context, x_RC, matrix_PC, {}, {}, logits_RP.rows(begin, end));
  });
  if (logit_scale_ != 1 || logit_softcap_ != 0)
    kernels::scale_and_softcap(context, logit_scale_, logit_softcap_, logits_RV);
  rows.unpack(context, logits_RV, micro_batch.logits_RV);
  loss(context, labels_R, micro_batch.loss_scale, losses, logits_RV, !grads.empty());
  rows.unpack(context, losses.nll_R, all.nll_R);
  rows.unpack(context, losses.squared_lse_R, all.squared_lse_R);
  if (grads.empty()) return;

  const Tensor dnorm_LC = scratch.allocate(dtype_, chunk.x_LC.shape());
  column_parallel_backward_input(context, ops_, logits_RP, matrix_PC, dnorm_LC, {}, [&] {
    kernels::linear_backward_weight(context, logits_RV, norm_RC.all(), grads.back(), {});
  });
  norm_.backward_input(context, norm_weights, chunk.x_LC, dnorm_LC, {}, chunk.dx_LC, saved);
  norm_.backward_weight(context, grads.first(norm_.num_params()), saved);
}

Tensor HeadUnit::padded_matrix(const Context& context, const Tensor& matrix_VC) const {
  const std::int64_t rows = matrix_VC.dim(0),
                     padded = kernels::padded_features(context.device(), dtype_, rows);
  if (padded == rows) return matrix_VC;
  const Tensor matrix_PC = context.scratch().allocate(dtype_, {padded, hidden_});
  kernels::copy(context, matrix_VC, matrix_PC.rows(0, rows));
  kernels::zero(context, matrix_PC.rows(rows, padded));
  return matrix_PC;
}

void HeadUnit::loss(const Context& context, const Tensor& labels_R, double loss_scale,
                    const kernels::TokenLosses& losses, const Tensor& logits_RV, bool trains) const {
  const kernels::LossGradient gradient(loss_scale * logit_scale_, z_loss_, logit_softcap_);
  if (ops_.shard().is_whole()) {
    if (!trains) return kernels::cross_entropy(context, logits_RV, labels_R, losses);
    return kernels::cross_entropy_gradient(context, labels_R, gradient, losses, logits_RV);
  }
  const Arena::Scope scope(context.scratch());
  const std::int64_t rows = logits_RV.dim(0);
  const Tensor own_3R = context.scratch().allocate(DType::f64, {3, rows}),
               all_N3R = context.scratch().allocate(DType::f64, {ops_.shard().size, 3, rows});
  const kernels::DimShard columns{columns_.begin, vocabulary_};
  kernels::cross_entropy_partial(context, logits_RV, labels_R, columns, own_3R);
  wait(context, ops_.start_all_gather(own_3R, all_N3R));
  if (trains)
    kernels::cross_entropy_gradient_from_partials(context, all_N3R, labels_R, columns, gradient, losses,
                                                  logits_RV);
  else
    kernels::cross_entropy_from_partials(context, all_N3R, labels_R, losses);
}

void HeadUnit::backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor>,
                              const Tensor&, const Tensor&, const Tensor& dx_LC, std::span<std::byte> saved,
                              std::span<std::byte>) const {
  kernels::copy(context, saved_gradient(context, saved, micro_batch), dx_LC);
}

void HeadUnit::backward_weight(const Context&, const MicroBatch&, const Tensor&, std::span<const Tensor>,
                               std::span<std::byte>, std::span<std::byte>) const {}

/// Returns the rows of a chunk, among this rank's rows. The result is the same on all ranks that
/// share the matrix, however uneven their parts are.
std::int64_t HeadUnit::chunk_rows(Device device, std::int64_t rows) const {
  const TensorParallelShard& shard = ops_.shard();
  const std::int64_t columns = ceil_div(vocabulary_, shard.size);
  const std::int64_t most =
      std::max<std::int64_t>(64, logits_at_once(device, dtype_) / (columns * shard.num_row_ranks()));
  const std::int64_t chunks = std::max<std::int64_t>(1, ceil_div(rows, most));  // nearly equal in size
  return std::min(rows, round_up(ceil_div(rows, chunks), 16));
}

Tensor HeadUnit::saved_gradient(const Context& context, std::span<std::byte> saved,
                                const MicroBatch& micro_batch) const {
  DT_CHECK(saved.data() != nullptr, "{}: no saved memory", unit_.name);
  return BumpAllocator(context.device(), saved)
      .allocate(dtype_, {ops_.shard().local_rows(micro_batch.batch * micro_batch.sequence), hidden_});
}

void HeadUnit::check(std::span<const Tensor> tensors) const {
  DT_CHECK(tensors.size() == unit_.params.size(), "{}: {} tensors for {} parameters", unit_.name,
           tensors.size(), unit_.params.size());
}

}  // namespace dt::model
