#include "model/parameter_scope.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"

namespace dt::model {

namespace {

bool is_block_matrix(const ParameterTable& table, int param) {
  const GroupSpec& group = table.groups()[to_index(table.group_of(param))];
  const bool is_of_blocks = std::ranges::all_of(
      group.units, [&](int unit) { return table.units()[to_index(unit)].kind == UnitKind::block; });
  if (!is_of_blocks) return false;
  const ParamSpec& spec = table.params()[to_index(param)];
  const Split* const experts = spec.split_along(SplitAxis::expert);
  int dims = 0;
  for (int dim = 0; dim < spec.shape.rank(); ++dim) {
    if (experts && experts->dim == dim) continue;
    if (spec.shape[dim] == 1) return false;
    ++dims;
  }
  return dims == 2;
}

}  // namespace

bool is_in_scope(const ParameterTable& table, int param, ParameterScope scope) {
  return scope == ParameterScope::all ||
         is_block_matrix(table, param) == (scope == ParameterScope::block_matrices);
}

std::int64_t count_elements(const ParameterTable& table, ParameterScope scope) {
  std::int64_t count = 0;
  for (int param = 0; param < static_cast<int>(table.params().size()); ++param)
    count += is_in_scope(table, param, scope) ? table.params()[to_index(param)].shape.numel() : 0;
  return count;
}

}  // namespace dt::model
