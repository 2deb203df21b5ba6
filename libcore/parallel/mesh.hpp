#pragma once
// The mesh of ranks, and which part of the model each owns. Only arithmetic: no rank needs to exist.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "parallel/sharding.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

/// Where a rank stands on each axis.
struct MeshPlace {
  int pp = 0;
  int dp = 0;
  int tp = 0;
  bool operator==(const MeshPlace&) const = default;
};

/// Ranks form axes pp × dp × tp, tp fastest. ZeRO `zero` divides state among `zero_group` neighbours on the
/// dp axis, which then exist dp ÷ zero_group times.
struct Mesh {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  int zero = 0;
  int zero_group = 0;  // 0: all of dp

  int size() const { return pp * dp * tp; }
  MeshPlace place_of(int rank) const;
  int group_size() const { return zero_group == 0 ? dp : zero_group; }
  /// What a place on the dp axis holds of what its pp and tp leave.
  Division division_of(int dp_rank) const;
  /// How many hold that, and which of them this place is.
  int num_replicas() const { return zero == 0 ? dp : dp / group_size(); }
  int replica_of(int dp_rank) const { return zero == 0 ? dp_rank : dp_rank / group_size(); }
};

/// Why this model cannot be laid out so, with what would do; "" where it can. Each tp rank has whole heads,
/// and the key-value heads that its query heads ask for, which others may hold, too: so tp divides the
/// key-value heads, or is a multiple of them up to the query heads.
std::string why_impossible(const Mesh& mesh, const model::ModelSpec& spec);

/// The stage that computes a unit: blocks are divided evenly over stages (stage s has blocks ⌊sL/pp⌋ …
/// ⌊(s+1)L/pp⌋−1), the embedding is with the first, the head with the last.
int stage_of(const model::ParameterTable& table, int unit, int pp);

/// What tensor parallelism leaves of a parameter on rank `tp_rank` of `tp`: a slice of `split.dim`, of whole
/// heads (features, rows of the vocabulary), or all of it where it is not cut. Slices may be uneven; with
/// fewer shards than ranks, several ranks hold the same.
Piece slice_of(const model::ParamSpec& param, int tp, int tp_rank);
/// Whether that rank owns the slice: the first of those that hold it.
bool owns_slice(const model::ParamSpec& param, int tp, int tp_rank);

/// A piece of the parameter with index `param`, in the kind of state with index `kind`.
struct OwnedPiece {
  int param = 0;
  int kind = 0;
  Piece piece;
  bool operator==(const OwnedPiece&) const = default;
};

/// What `rank` writes of the model's state into a checkpoint. There are kind_bytes.size() kinds of state
/// alike (weights and each moment), the elements of the i-th of kind_bytes[i] bytes. Over all ranks of the
/// mesh each element of each kind is owned once: by the stage of its group's owner unit (a tied table: the
/// first), by the first of the tp ranks that hold its slice, by the dp rank whose ZeRO part it is in; what
/// dp ranks hold alike, they share by bytes. Sorted by parameter, then kind; none is empty.
std::vector<OwnedPiece> owned_pieces(const model::ParameterTable& table, const Mesh& mesh, int rank,
                                     std::span<const std::size_t> kind_bytes);

}  // namespace dt::parallel
