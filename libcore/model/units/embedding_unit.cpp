#include "model/units/embedding_unit.hpp"

#include "model/tensor_parallel/parallel_linear.hpp"

namespace dt::model {

EmbeddingUnit::EmbeddingUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const TensorParallelOps& ops)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      learned_positions_(spec.position == Position::learned),
      rows_{ops.shard().vocabulary_range(spec).begin, spec.vocabulary},
      dtype_(dtype),
      ops_(ops) {}

Shape EmbeddingUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {ops_.shard().local_rows(batch * sequence), hidden_};
}

std::size_t EmbeddingUnit::scratch_bytes(Device, std::int64_t batch, std::int64_t sequence) const {
  if (!ops_.shard().sequence_parallel) return 0;
  return static_cast<std::size_t>(batch * sequence * hidden_) * dtype_bytes(dtype_);
}

void EmbeddingUnit::forward(const Context& context, const MicroBatch& micro_batch,
                            std::span<const Tensor> weights, const Tensor&, const Tensor& y_LC,
                            std::span<std::byte>, std::span<const Tensor>) const {
  const Arena::Scope scope(context.scratch());
  const Tensor partial_RC = partial_sum_buffer(context, ops_, micro_batch.tokens_R.dim(0), y_LC);
  kernels::embedding(context, micro_batch.tokens_R, weights[0], false, partial_RC, rows_);
  reduce_rows(context, ops_, partial_RC, y_LC);
  if (learned_positions_)
    kernels::embedding(context, ops_.shard().local_rows_of(micro_batch.positions_R), weights[1], true, y_LC);
}

void EmbeddingUnit::backward_input(const Context&, const MicroBatch&, std::span<const Tensor>, const Tensor&,
                                   const Tensor&, const Tensor&, std::span<std::byte>,
                                   std::span<std::byte>) const {}

void EmbeddingUnit::backward_weight(const Context& context, const MicroBatch& micro_batch,
                                    const Tensor& dy_LC, std::span<const Tensor> grads, std::span<std::byte>,
                                    std::span<std::byte>) const {
  const Arena::Scope scope(context.scratch());
  kernels::embedding_backward(context, micro_batch.tokens_R, all_gather_rows(context, ops_, dy_LC), grads[0],
                              rows_);
  if (learned_positions_)
    kernels::embedding_backward(context, ops_.shard().local_rows_of(micro_batch.positions_R), dy_LC,
                                grads[1]);
}

}  // namespace dt::model
