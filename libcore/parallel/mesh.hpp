#pragma once
// Which part of a model each axis of the mesh leaves a rank. Only arithmetic: no rank needs to exist.

#include <string>

#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "parallel/sharding.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

/// What a place on the dp axis holds of what its pp and tp leave.
Division division_of(const model::Layout& layout, int dp_rank);

/// Why this model cannot be laid out so, with what would do; "" where it can. A schedule has its own numbers
/// of virtual stages, and each of those holds a unit. Each tp rank has whole heads, and the key-value heads
/// that its query heads ask for, which others may hold, too: so tp divides the key-value heads, or is a
/// multiple of them up to the query heads. The table of stages is not looked at.
std::string why_impossible(const model::Layout& mesh, const model::ModelSpec& spec);

/// What tensor parallelism leaves of a parameter on rank `tp_rank` of `tp`: a slice of `split.dim`, of whole
/// heads (features, rows of the vocabulary), or all of it where it is not cut. Slices may be uneven; with
/// fewer shards than ranks, several ranks hold the same.
Piece slice_of(const model::ParamSpec& param, int tp, int tp_rank);
/// Whether that rank owns the slice: the first of those that hold it.
bool owns_slice(const model::ParamSpec& param, int tp, int tp_rank);

}  // namespace dt::parallel
