#include "parallel/state/comm_volume.hpp"

#include "model/layers/residual_branch.hpp"
#include "parallel/state/mesh.hpp"

namespace dt::parallel {

namespace {

/// Numbers of exchanges of tensor-parallel ranks: sums of all rows' features, and gathers of divided
/// rows.
struct LayerExchanges {
  int sums = 0;
  int gathers = 0;
};

LayerExchanges exchanges_of(model::UnitKind kind, ActionKind action, bool trains,
                            const BlockExchanges& block) {
  const bool is_forward = action == ActionKind::forward;
  switch (kind) {
    case model::UnitKind::embedding:
      if (is_forward) return {.sums = 1};
      return {.gathers = action == ActionKind::backward_weight ? 1 : 0};
    case model::UnitKind::block:
      if (action == ActionKind::recompute) return {.sums = block.recomputed_sums, .gathers = 2};
      if (action == ActionKind::backward_weight) return {.gathers = block.input_gathers};
      return {.sums = 2, .gathers = is_forward ? 2 : block.gradient_gathers};
    default:
      return is_forward ? LayerExchanges{.sums = trains ? 1 : 0, .gathers = 1} : LayerExchanges{};
  }
}

}  // namespace

/// A block that is computed again needs the sum of attention's output as the second branch's input, if
/// its branches are not parallel, and that of an output that is normalized. Parallel branches have one
/// gradient of their outputs.
BlockExchanges block_exchanges(const model::ModelSpec& spec) {
  const int normalised = model::feed_forward_branch_form(spec).normalises_output ? 1 : 0;
  return {.recomputed_sums = spec.parallel_branches ? 0 : 1 + normalised,
          .gradient_gathers = spec.parallel_branches ? 1 : 2,
          .input_gathers = spec.shared_norm ? 1 : 2,
          .row_statistics = spec.qk_norm == model::QkNorm::full_width ? 2 : 0};
}

CommBytes sum_by_purpose(const ActionList& list, const std::vector<std::int64_t>& bytes) {
  CommBytes moved;
  const auto purpose = [&](const Action& a) -> std::int64_t& {
    if (a.computes()) return moved.layers;
    if (a.kind == ActionKind::gather || a.kind == ActionKind::step) return moved.weights;
    if (a.kind != ActionKind::send) return moved.weight_gradients;
    if (a.payload == Payload::activation) return moved.activations;
    return a.payload == Payload::gradient ? moved.activation_gradients : moved.tied;
  };
  for (std::size_t i = 0; i < list.size(); ++i) purpose(list[i]) += bytes[i];
  return moved;
}

std::int64_t CommVolume::stage_bytes(const Action& send) const {
  const model::TensorParallelShard shard = tensor_parallel_shard(local.layout(), local.place());
  if (send.payload == Payload::activation || send.payload == Payload::gradient)
    return shard.local_rows(rows) * hidden * static_cast<std::int64_t>(dtype_bytes(precision.compute));
  const DType dtype = send.payload == Payload::tied_gradient ? precision.gradient : precision.compute;
  return local.group(local.tied_group()).owned_range.count * static_cast<std::int64_t>(dtype_bytes(dtype));
}

/// Includes the three sums a row that the head's ranks gather, in fp64.
LayerBytes CommVolume::layer_bytes(const Action& action) const {
  if (!action.computes()) return {};
  const model::Layout& layout = local.layout();
  const model::UnitKind kind = local.table().units()[to_index(action.unit)].kind;
  LayerBytes bytes{.ring_shifted = ring_bytes(kind, action.kind)};
  if (layout.tp == 1) return bytes;
  const LayerExchanges each = exchanges_of(kind, action.kind, trains, block);
  const std::int64_t row = hidden * static_cast<std::int64_t>(dtype_bytes(precision.compute));
  bytes.summed = rows * each.sums * row;
  if (layout.sequence_parallel) bytes.gathered = rows * each.gathers * row;
  if (kind == model::UnitKind::block && action.kind != ActionKind::backward_weight) {
    const auto statistic = static_cast<std::int64_t>(dtype_bytes(statistics_dtype(precision.compute)));
    const std::int64_t summed = rows * block.row_statistics * statistic;
    bytes.summed += summed;
    if (layout.sequence_parallel) bytes.gathered += summed;
  }
  if (kind == model::UnitKind::head && action.kind == ActionKind::forward)
    bytes.gathered += rows * 3 * layout.tp * static_cast<std::int64_t>(sizeof(double));
  return bytes;
}

/// Counts visits of keys and values to all ranks but the last, and the way home of their gradients.
std::int64_t CommVolume::ring_bytes(model::UnitKind kind, ActionKind action) const {
  const int cp = local.layout().cp;
  if (cp == 1 || kind != model::UnitKind::block || action == ActionKind::backward_weight) return 0;
  const std::int64_t visits = (cp - 1) * static_cast<std::int64_t>(dtype_bytes(precision.compute));
  const bool is_backward = action == ActionKind::backward_input;
  const std::int64_t home =
      is_backward ? cp * static_cast<std::int64_t>(dtype_bytes(statistics_dtype(precision.compute))) : 0;
  return rows * key_value_features * (visits + home);
}

ControlBytes CommVolume::control_bytes() const {
  std::int64_t replicated = 0, partial = 0;  // elements
  for (const LocalGroup& group : local.groups()) {
    const auto holders = static_cast<std::int64_t>(group.holders.size());
    if (group.sums_replicas_last) replicated += holders * group.owned_range.count;
    for (const TensorSumRange& sum : group.tensor_sums) partial += holders * sum.range.count;
  }
  return {replicated * static_cast<std::int64_t>(dtype_bytes(precision.wire())),
          partial * static_cast<std::int64_t>(dtype_bytes(precision.gradient))};
}

std::vector<std::int64_t> CommVolume::bytes_of(const ActionList& list) const {
  const auto weight_bytes = static_cast<std::int64_t>(dtype_bytes(precision.compute));
  const auto gradient_bytes = static_cast<std::int64_t>(dtype_bytes(precision.wire()));
  std::vector<int> users(local.groups().size());
  std::vector<std::int64_t> bytes;
  for (const Action& action : list) {
    std::int64_t moved = layer_bytes(action).total();
    if (action.unit >= 0 && !action.transfers()) {
      for (const int index : local.groups_of(action.unit)) {
        const LocalGroup& group = local.group(index);
        const bool divides = group.sharding.shards_optimizer();
        if (action.kind == ActionKind::gather && users[to_index(index)]++ == 0 && divides)
          moved += group.numel * weight_bytes;
        if (action.kind == ActionKind::free) --users[to_index(index)];
        const bool sums_all = group.num_replicas > 1 && !group.sums_replicas_last;
        if (action.kind == ActionKind::reduce && (divides || sums_all)) moved += group.numel * gradient_bytes;
      }
    }
    if (action.kind == ActionKind::send) moved += stage_bytes(action);
    if (action.kind == ActionKind::control) moved += control_bytes().replicated + control_bytes().partial;
    if (action.kind == ActionKind::step) moved += update_bytes;
    bytes.push_back(moved);
  }
  return bytes;
}

}  // namespace dt::parallel
