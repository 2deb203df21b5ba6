#pragma once
// Computes the shard of a model, and of the state of its training, that each axis of the mesh leaves a
// rank. This is arithmetic alone: no rank needs to exist.

#include <cstdint>
#include <string>

#include "base/numeric/range.hpp"
#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

/// Granule of shards of a flat buffer. Shards start on the blocks by which sums over ranks are made, so
/// that these do not depend on the sharding.
inline constexpr std::int64_t shard_granule = 4096;

/// The sharding of a flat buffer among data-parallel ranks, and this rank's shard. ZeRO's stage 0 divides
/// nothing, 1 the optimizer's state, 2 gradients too, 3 weights too.
/// Source: Rajbhandari et al. 2020 (ZeRO).
struct ZeroSharding {
  int zero = 0;
  int rank = 0;  // rank among those that divide it
  int size = 1;

  bool shards_from_stage(int from) const { return zero >= from && size > 1; }
  bool shards_optimizer() const { return shards_from_stage(1); }
  bool shards_gradients() const { return shards_from_stage(2); }
  bool shards_weights() const { return shards_from_stage(3); }
  /// Returns the elements of a flat buffer whose optimizer state this rank holds.
  Range owned_range(std::int64_t numel) const {
    if (!shards_optimizer()) return {0, numel};
    return even_range(rank, size, numel, shard_granule);
  }
};

/// Returns the ZeRO shard that a place holds of its stage's groups of one reduction.
ZeroSharding zero_sharding_of(const model::Layout& layout, const model::MeshCoordinates& place,
                              model::ReductionAxis axis);

/// Returns the shard of each layer that a place of the mesh has.
model::TensorParallelShard tensor_parallel_shard(const model::Layout& layout,
                                                 const model::MeshCoordinates& place);

/// Returns why this model cannot have this layout, or "" if it can. The text names layouts that would
/// do, by the keys of a layout's text ("pp=4"). The rules are:
/// - The schedule allows the number of virtual stages, and each virtual stage holds a unit.
/// - Each tp rank has as many whole query heads as the others, and the key-value heads that they need,
///   which other ranks may hold, too. So tp divides the query heads, and divides the key-value heads or
///   is a multiple of them.
/// - Each tp rank has at least one feature of the MLP and one row of the vocabulary.
/// - Experts can be divided among ep ranks (see model::expert_axis_error()).
/// - A zero-group needs ZeRO, and its size divides the number of data ranks. It is a multiple of ep, or
///   divides it.
///
/// The table of stages is not checked.
std::string layout_error(const model::Layout& mesh, const model::ModelSpec& spec);
/// Returns why ranks of this layout cannot divide sequences of that length, or "" if they can. The
/// layout must be possible. Each cp rank has two equal chunks (see model::Zigzag). If tp ranks
/// divide the rows that this leaves, each has as many rows as the others.
std::string sequence_length_error(const model::Layout& mesh, const model::ModelSpec& spec,
                                  std::int64_t sequence_length);

/// Returns the shard of a parameter that a place holds. It is a box: a range of each dim that is split,
/// of whole heads (features, rows of the vocabulary, experts), and all of the other dims. Shards may be
/// uneven. With fewer shards than ranks, several ranks hold the same shard.
Piece shard_piece(const model::ParamSpec& param, const model::Layout& layout,
                  const model::MeshCoordinates& place);
/// Returns the number of a rank's shard among the distinct ones, of which there are at most `max_shards`:
/// the rank's own number, or ⌊rank·shards/ranks⌋ with fewer shards than ranks.
int shard_index(std::int64_t max_shards, int num_ranks, int rank);
/// Returns whether a place owns its shard: the owner is the first of the tensor-parallel ranks that
/// hold it.
bool owns_shard(const model::ParamSpec& param, const model::Layout& layout,
                const model::MeshCoordinates& place);

/// The tp ranks whose gradients of a parameter make up its gradient. Each has only what comes from
/// its own heads (`replicas`: the ranks that hold the same shard; `all`, if all heads share the parameter)
/// or from its own rows of the sequence (`all`).
enum class TensorSum { none, replicas, all };
TensorSum tensor_sum_of(const model::ParamSpec& param, const model::Layout& layout);

}  // namespace dt::parallel
