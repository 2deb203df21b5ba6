#include "model/embedding_unit.hpp"

#include "kernels/embedding.hpp"

namespace dt::model {

EmbeddingUnit::EmbeddingUnit(const ModelSpec& spec, UnitSpec unit, DType dtype)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      learned_positions_(spec.position == Position::learned),
      dtype_(dtype) {}

Shape EmbeddingUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {batch * sequence, hidden_};
}

void EmbeddingUnit::forward(const Context& context, const MicroBatch& micro_batch,
                            std::span<const Tensor> weights, const Tensor&, const Tensor& y_RC,
                            std::span<std::byte>, std::span<const Tensor>) const {
  kernels::embedding(context, micro_batch.tokens_R, weights[0], false, y_RC);
  if (learned_positions_) kernels::embedding(context, micro_batch.positions_R, weights[1], true, y_RC);
}

void EmbeddingUnit::backward_input(const Context&, const MicroBatch&, std::span<const Tensor>, const Tensor&,
                                   const Tensor&, const Tensor&, std::span<std::byte>,
                                   std::span<std::byte>) const {}

void EmbeddingUnit::backward_weight(const Context& context, const MicroBatch& micro_batch,
                                    const Tensor& dy_RC, std::span<const Tensor> grads, std::span<std::byte>,
                                    std::span<std::byte>) const {
  kernels::embedding_backward(context, micro_batch.tokens_R, dy_RC, grads[0]);
  if (learned_positions_) kernels::embedding_backward(context, micro_batch.positions_R, dy_RC, grads[1]);
}

}  // namespace dt::model
