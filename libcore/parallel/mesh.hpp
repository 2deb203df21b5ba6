#pragma once
// Computes the part of a model that each axis of the mesh leaves a rank. Only arithmetic: no rank
// needs to exist.

#include <cstdint>
#include <string>

#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "parallel/sharding.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

/// Returns which part a data rank holds of what pp and tp leave it.
Division division_of(const model::Layout& layout, int data_rank);

/// Returns why this model cannot be laid out so, with layouts that would do in the keys of a layout's
/// text ("pp=4"). Returns "" if it can. A schedule has its own numbers of virtual stages, and each of
/// those holds a unit. Each tp rank has as many whole query heads as the others, and the key-value
/// heads that they need, which other ranks may hold, too. So tp divides the query heads, and divides
/// the key-value heads or is a multiple of them. Each tp rank has at least one feature of the MLP and
/// one row of the vocabulary. The table of stages is not checked.
std::string why_impossible(const model::Layout& mesh, const model::ModelSpec& spec);
/// Returns the same for sequences of that length, for a layout that is possible. Each cp rank has two
/// equal chunks (see model::Zigzag). If tp ranks divide the rows that this leaves, each has as many
/// rows as the others.
std::string why_sequence_impossible(const model::Layout& mesh, const model::ModelSpec& spec,
                                    std::int64_t sequence_length);

/// Returns what tensor parallelism leaves of a parameter on rank `tp_rank` of `tp`: a slice of
/// `split.dim`, of whole heads (features, rows of the vocabulary), or all of the parameter if it is
/// not split. Slices may be uneven. With fewer shards than ranks, several ranks hold the same slice.
Piece slice_of(const model::ParamSpec& param, int tp, int tp_rank);
/// Returns the number of the rank's slice among the distinct ones: the rank's own number, or
/// ⌊rank·shards/tp⌋ with fewer shards than ranks.
int shard_of(const model::Split& split, int tp, int tp_rank);
/// Returns whether that rank owns the slice: it is the first of those that hold it.
bool owns_slice(const model::ParamSpec& param, int tp, int tp_rank);

/// The tp ranks whose gradients of a parameter make up its gradient. Each has only what comes from
/// its own heads (`replicas`: the ranks that hold the same slice) or from its own rows of the
/// sequence (`all`).
enum class TensorSum { none, replicas, all };
TensorSum tensor_sum_of(const model::ParamSpec& param, const model::Layout& layout);

}  // namespace dt::parallel
