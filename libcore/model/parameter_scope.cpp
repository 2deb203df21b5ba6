#include "model/parameter_scope.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"

namespace dt::model {

namespace {

bool is_of_blocks(const ParameterTable& table, int param) {
  const GroupSpec& group = table.groups()[to_index(table.group_of(param))];
  return std::ranges::all_of(group.units,
                             [&](int unit) { return table.units()[to_index(unit)].kind == UnitKind::block; });
}

bool is_matrix(const ParamSpec& spec) {
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
  using enum ParameterScope;
  if (scope == all) return true;
  const bool is_one = is_matrix(table.params()[to_index(param)]);
  if (scope == matrices || scope == vectors) return is_one == (scope == matrices);
  return (is_one && is_of_blocks(table, param)) == (scope == block_matrices);
}

Shape state_shape(const Shape& param, kernels::StateShape form) {
  if (form == kernels::StateShape::parameter) return param;
  DT_CHECK(param.rank() >= 2, "a parameter of rank {} has no {}", param.rank(), name_of(form));
  std::vector<std::int64_t> dims = param.dims();
  dims.erase(dims.end() - (form == kernels::StateShape::rows ? 1 : 2));
  return Shape(dims);
}

std::int64_t count_elements(const ParameterTable& table, ParameterScope scope) {
  std::int64_t count = 0;
  for (int param = 0; param < static_cast<int>(table.params().size()); ++param)
    count += is_in_scope(table, param, scope) ? table.params()[to_index(param)].shape.numel() : 0;
  return count;
}

std::int64_t count_state_elements(const ParameterTable& table, const kernels::StateKind& kind) {
  std::int64_t count = 0;
  for (int param = 0; param < static_cast<int>(table.params().size()); ++param) {
    if (is_in_scope(table, param, kind.scope))
      count += state_shape(table.params()[to_index(param)].shape, kind.shape).numel();
  }
  return count;
}

}  // namespace dt::model
