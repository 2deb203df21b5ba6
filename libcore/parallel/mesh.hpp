#pragma once
// Which part of a model each axis of the mesh leaves a rank. Only arithmetic: no rank needs to exist.

#include <cstdint>
#include <string>

#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "parallel/sharding.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

/// What a data rank holds of what its pp and tp leave.
Division division_of(const model::Layout& layout, int data_rank);

/// Why this model cannot be laid out so, with what would do, in the keys of a layout's text ("pp=4"); ""
/// where it can. A schedule has its own numbers of virtual stages, and each of those holds a unit. Each tp
/// rank has as many whole query heads as the others, and the key-value heads that they ask for, which others
/// may hold, too: so tp divides the query heads, and divides the key-value heads or is a multiple of them. It
/// has a feature of the MLP and a row of the vocabulary at least. The table of stages is not looked at.
std::string why_impossible(const model::Layout& mesh, const model::ModelSpec& spec);
/// The same of sequences of that length, for a layout that is possible: cp ranks have two equal chunks each
/// (see model::Zigzag), and where tp ranks divide what that leaves, each has as many rows as the others.
std::string why_sequence_impossible(const model::Layout& mesh, const model::ModelSpec& spec,
                                    std::int64_t sequence_length);

/// What tensor parallelism leaves of a parameter on rank `tp_rank` of `tp`: a slice of `split.dim`, of whole
/// heads (features, rows of the vocabulary), or all of it where it is not cut. Slices may be uneven; with
/// fewer shards than ranks, several ranks hold the same.
Piece slice_of(const model::ParamSpec& param, int tp, int tp_rank);
/// Which slice, of those that differ: its own, or with fewer shards than ranks number ⌊rank·shards/tp⌋.
int shard_of(const model::Split& split, int tp, int tp_rank);
/// Whether that rank owns the slice: the first of those that hold it.
bool owns_slice(const model::ParamSpec& param, int tp, int tp_rank);

/// Which tp ranks' gradients of a parameter make up its gradient, as each has only what comes of its own
/// heads (`replicas`: those that hold the same slice) or of its own rows of the sequence (`all`).
enum class TensorSum { none, replicas, all };
TensorSum tensor_sum_of(const model::ParamSpec& param, const model::Layout& layout);

}  // namespace dt::parallel
