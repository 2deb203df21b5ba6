#pragma once
// Parameters within the flat buffers of their groups.

#include <algorithm>
#include <utility>
#include <vector>

#include "model/parameter_table.hpp"
#include "parallel/index.hpp"
#include "parallel/sharding.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// The groups that a unit computes with, each once, in ascending order.
std::vector<int> groups_of(const model::ParameterTable& table, int unit);

/// Where a parameter starts in its group's flat buffer.
std::int64_t offset_of(const model::ParameterTable& table, int param);

/// A parameter in its group's whole flat buffer, in its global shape.
Tensor param_in(const model::ParameterTable& table, const Tensor& whole, int param);

/// Which elements of a piece, laid from element `offset` of a flat buffer, lie in a part of that; may be
/// none.
Piece held_of(Piece piece, std::int64_t offset, const comm::Part& part);

}  // namespace dt::parallel
