#include "parallel/state/state_layout.hpp"

namespace dt::parallel {

StateLayout::StateLayout(const LocalTable& local, model::ParameterScope scope)
    : offsets_(local.table().params().size(), -1) {
  for (const LocalGroup& group : local.groups()) {
    std::int64_t numel = scope == model::ParameterScope::all ? group.state_numel() : 0;
    for (const int index : group.params) {
      const LocalParam& param = local.param(index);
      if (!model::is_in_scope(local.table(), param.param, scope)) continue;
      std::int64_t& offset = offsets_[to_index(param.param)];
      offset = scope == model::ParameterScope::all ? param.owned_offset : numel;
      if (scope == model::ParameterScope::all || !group.has_state) continue;
      numel += round_up(param.owned_piece.numel(), model::ParameterTable::alignment);
    }
    numels_.push_back(numel);
  }
}

}  // namespace dt::parallel
