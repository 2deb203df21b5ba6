#pragma once
// Says which parameters of a model an optimizer treats alike.

#include "kernels/state_kind.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

using kernels::ParameterScope;

/// Returns whether the parameter with this index is in the scope. It is a matrix of blocks if blocks alone
/// compute with it, and it has two dims above 1 (an expert's weight a dim more). So the embedding, the head,
/// norms and biases are others.
bool is_in_scope(const ParameterTable& table, int param, ParameterScope scope);

/// Returns the elements of all parameters in the scope.
std::int64_t count_elements(const ParameterTable& table, ParameterScope scope);

}  // namespace dt::model
