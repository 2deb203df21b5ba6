#pragma once
// Says which parameters of a model an optimizer treats alike.

#include "kernels/state_kind.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

using kernels::ParameterScope;

/// Returns whether the parameter with this index is in the scope. It is a matrix if it has two dims above 1
/// (an expert's weight a dim more), and one of blocks if blocks alone compute with it. So the embedding and
/// the head are matrices, but none of blocks; norms and biases are vectors.
bool is_in_scope(const ParameterTable& table, int param, ParameterScope scope);

/// Returns the global shape of a parameter's state. Of a matrix of shape [R, C] it is [R] for rows and [C]
/// for columns, of experts' weights of shape [E, R, C] [E, R] and [E, C].
Shape state_shape(const Shape& param, kernels::StateShape form);

/// Returns the elements of all parameters in the scope.
std::int64_t count_elements(const ParameterTable& table, ParameterScope scope);
/// Returns the elements of a kind of state of all parameters that have it.
std::int64_t count_state_elements(const ParameterTable& table, const kernels::StateKind& kind);

}  // namespace dt::model
