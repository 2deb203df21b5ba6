#pragma once
// Says which parameters of a model an optimizer treats alike.

#include "kernels/state_kind.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

using kernels::ParameterScope;

/// Returns whether the parameter with this index is in the scope. A parameter is a matrix if it has two dims
/// above 1, not counting the experts' dim. It is a block matrix if only blocks compute with it. So the
/// embedding and the head are matrices, but no block matrices. Norms and biases are vectors.
bool is_in_scope(const ParameterTable& table, int param, ParameterScope scope);

/// Returns the global shape of a parameter's state. For a matrix of shape [R, C], it is [R] with `rows` and
/// [C] with `columns`. For experts' weights of shape [E, R, C], it is [E, R] or [E, C].
Shape state_shape(const Shape& param, kernels::StateShape form);

/// Returns the elements of all parameters in the scope.
std::int64_t count_elements(const ParameterTable& table, ParameterScope scope);
/// Returns the number of elements of a kind of state, summed over all parameters that have it.
std::int64_t count_state_elements(const ParameterTable& table, const kernels::StateKind& kind);

}  // namespace dt::model
