// The embedding unit, and functions of all units.
// Legend: R rows, L this rank's rows (see TensorParallelOps), C hidden.

#include "model/units/unit.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/visit_dtype.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "model/tensor_parallel/parallel_linear.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "model/units/block_unit.hpp"
#include "model/units/head_unit.hpp"

namespace dt::model {

namespace {

/// Returns a value as a dtype has it.
double rounded_to(DType dtype, double value) {
  double rounded = value;
  visit_dtype(FloatTypes(), dtype, "embedding", [&](auto element) {
    using T = decltype(element);
    rounded = static_cast<ComputeType<T>>(static_cast<T>(static_cast<ComputeType<T>>(value)));
  });
  return rounded;
}

/// The embedding of tokens and of learned positions. Saves nothing. The output of the token table is
/// multiplied by the model's scale, and the output of the position table is not. Some models round the scale
/// to the dtype first.
/// Parameters: the token table, whose rows the tensor-parallel ranks divide, and the position table
/// if the model learns its positions.
class EmbeddingUnit final : public Unit {
 public:
  EmbeddingUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const TensorParallelOps& ops);
  const UnitSpec& spec() const override { return unit_; }
  DType output_dtype() const override { return dtype_; }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override;
  std::size_t saved_bytes(std::int64_t, std::int64_t) const override { return 0; }
  std::size_t backward_handoff_bytes(Device, std::int64_t, std::int64_t) const override { return 0; }
  /// Returns the bytes of all rows if ranks divide rows, and those of a scaled gradient.
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override;

  void forward(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x, const Tensor& y_LC, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override;
  /// Does nothing: tokens have no gradient.
  void backward_input(const Context& context, const MicroBatch& micro_batch, std::span<const Tensor> weights,
                      const Tensor& x, const Tensor& dy_LC, const Tensor& dx, std::span<std::byte> saved,
                      std::span<std::byte> backward_handoff) const override;
  void backward_weight(const Context& context, const MicroBatch& micro_batch, const Tensor& dy_LC,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> backward_handoff) const override;

 private:
  UnitSpec unit_;
  std::int64_t hidden_;
  bool learned_positions_;
  kernels::DimShard rows_;  // this rank's rows of the token table
  DType dtype_;
  double scale_;
  const TensorParallelOps& ops_;
};

EmbeddingUnit::EmbeddingUnit(const ModelSpec& spec, UnitSpec unit, DType dtype, const TensorParallelOps& ops)
    : unit_(std::move(unit)),
      hidden_(spec.hidden),
      learned_positions_(spec.position == Position::learned),
      rows_{ops.shard().vocabulary_range(spec).begin, spec.vocabulary},
      dtype_(dtype),
      scale_(spec.rounds_embedding_scale ? rounded_to(dtype, spec.embedding_scale) : spec.embedding_scale),
      ops_(ops) {}

Shape EmbeddingUnit::output_shape(std::int64_t batch, std::int64_t sequence) const {
  return {ops_.shard().local_rows(batch * sequence), hidden_};
}

std::size_t EmbeddingUnit::scratch_bytes(Device, std::int64_t batch, std::int64_t sequence) const {
  const std::int64_t all = ops_.shard().sequence_parallel ? batch * sequence : 0,
                     scaled = scale_ == 1 ? 0 : ops_.shard().local_rows(batch * sequence);
  return storage_bytes(dtype_, (all + scaled) * hidden_);
}

void EmbeddingUnit::forward(const Context& context, const MicroBatch& micro_batch,
                            std::span<const Tensor> weights, const Tensor&, const Tensor& y_LC,
                            std::span<std::byte>, std::span<const Tensor>) const {
  const Arena::Scope scope(context.scratch());
  const Tensor partial_RC = partial_sum_buffer(context, ops_, micro_batch.tokens_R.dim(0), y_LC);
  kernels::embedding(context, micro_batch.tokens_R, weights[0], false, partial_RC, rows_);
  reduce_rows(context, ops_, partial_RC, y_LC);
  if (scale_ != 1) kernels::scale_add(context, scale_, y_LC, {}, y_LC);
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
  Tensor dtoken_LC = dy_LC;
  if (scale_ != 1) {
    dtoken_LC = context.scratch().allocate(dtype_, dy_LC.shape());
    kernels::scale_add(context, scale_, dy_LC, {}, dtoken_LC);
  }
  kernels::embedding_backward(context, micro_batch.tokens_R, all_gather_rows(context, ops_, dtoken_LC),
                              grads[0], rows_);
  if (learned_positions_)
    kernels::embedding_backward(context, ops_.shard().local_rows_of(micro_batch.positions_R), dy_LC,
                                grads[1]);
}

/// Returns the tables of a layer: those of an earlier layer of the same rotation, or new ones.
std::shared_ptr<const RotaryTables> rotary_of(
    Device device, const ModelSpec& spec, std::int64_t layer, DType dtype,
    const std::vector<std::shared_ptr<const RotaryTables>>& earlier) {
  const AttentionSpec& own = spec.attention[layer];
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (same_rotation(spec.attention[static_cast<std::int64_t>(i)], own)) return earlier[i];
  }
  return std::make_shared<const RotaryTables>(device, spec, own, statistics_dtype(dtype));
}

}  // namespace

std::vector<std::unique_ptr<Unit>> make_units(Device device, const ModelSpec& spec,
                                              const ParameterTable& table, DType dtype,
                                              SavedActivations saved_activations,
                                              const TensorParallelOps& ops, double z_loss) {
  std::vector<std::shared_ptr<const RotaryTables>> rotary;  // one of each layer
  for (std::int64_t layer = 0; layer < spec.layers; ++layer)
    rotary.push_back(rotary_of(device, spec, layer, dtype, rotary));
  std::vector<std::unique_ptr<Unit>> units;
  for (const UnitSpec& unit : table.units()) {
    switch (unit.kind) {
      case UnitKind::embedding:
        units.push_back(std::make_unique<EmbeddingUnit>(spec, unit, dtype, ops));
        break;
      case UnitKind::block:
        units.push_back(std::make_unique<BlockUnit>(spec, unit, dtype, saved_activations,
                                                    rotary[static_cast<std::size_t>(unit.layer)], ops));
        break;
      case UnitKind::head:
        units.push_back(std::make_unique<HeadUnit>(spec, unit, dtype, ops, z_loss));
        break;
    }
  }
  return units;
}

std::vector<AuxiliaryLoss> auxiliary_losses(std::span<const std::unique_ptr<Unit>> units) {
  std::vector<AuxiliaryLoss> all;
  for (const auto& unit : units) {
    for (AuxiliaryLoss& loss : unit->auxiliary_losses()) {
      const auto same = std::ranges::find(all, loss.name, &AuxiliaryLoss::name);
      if (same == all.end())
        all.push_back(std::move(loss));
      else
        DT_CHECK(*same == loss, "two coefficients of the loss '{}'", loss.name);
    }
  }
  return all;
}

}  // namespace dt::model
