#include "parallel/state/state_layout.hpp"

#include "model/parameter_scope.hpp"

namespace dt::parallel {

using kernels::ParameterScope, kernels::StateShape;

Piece state_piece(const LocalTable& local, const LocalParam& param, const StateKind& kind) {
  if (!model::is_in_scope(local.table(), param.param, kind.scope)) return {};
  if (kind.shape == StateShape::parameter) return param.owned_piece;
  return Piece::whole(model::state_shape(local.spec(param).shape, kind.shape));
}

StateLayout::StateLayout(const LocalTable& local, const StateKind& kind)
    : offsets_(local.table().params().size(), -1) {
  const bool lies_as_weights = kind.scope == ParameterScope::all && kind.shape == StateShape::parameter;
  for (const LocalGroup& group : local.groups()) {
    std::int64_t numel = lies_as_weights ? group.state_numel() : 0;
    for (const int index : group.params) {
      const LocalParam& param = local.param(index);
      if (!model::is_in_scope(local.table(), param.param, kind.scope)) continue;
      std::int64_t& offset = offsets_[to_index(param.param)];
      offset = lies_as_weights ? param.owned_offset : numel;
      if (lies_as_weights || !group.has_state) continue;
      numel += round_up(state_piece(local, param, kind).numel(), model::ParameterTable::alignment);
    }
    numels_.push_back(numel);
  }
}

}  // namespace dt::parallel
