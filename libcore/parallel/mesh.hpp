#pragma once
// The mesh of ranks, and which part of a model each axis leaves. Only arithmetic: no rank needs to exist.

#include <string>
#include <vector>

#include "comm/communicator.hpp"
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

/// Units [begin, end) of the decoder.
struct UnitRange {
  int begin = 0;
  int end = 0;
  bool operator==(const UnitRange&) const = default;
};

/// Of each stage, the units that it holds.
using StageUnits = std::vector<std::vector<UnitRange>>;

/// Ranks form axes pp × dp × tp, tp fastest. ZeRO `zero` divides state among `zero_group` neighbours on the
/// dp axis, which then exist dp ÷ zero_group times.
struct Mesh {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  int zero = 0;
  int zero_group = 0;   // 0: all of dp
  StageUnits stages{};  // empty: even_stages

  int size() const { return pp * dp * tp; }
  MeshPlace place_of(int rank) const;
  int group_size() const { return zero_group == 0 ? dp : zero_group; }
  /// What a place on the dp axis holds of what its pp and tp leave.
  Division division_of(int dp_rank) const;
  /// How many hold that, and which of them this place is.
  int num_replicas() const { return zero == 0 ? dp : dp / group_size(); }
  int replica_of(int dp_rank) const { return zero == 0 ? dp_rank : dp_rank / group_size(); }
};

/// Why no model of this table can be laid out so, with what would do; "" where it can.
std::string why_impossible(const Mesh& mesh, const model::ParameterTable& table);

/// One range a stage: the first has the embedding, the last the head, and of the L blocks between, stage s
/// has ⌊sL/pp⌋ … ⌊(s+1)L/pp⌋−1.
StageUnits even_stages(int num_units, int pp);
/// The stage that holds each unit. Error{internal}: the mesh's table does not name each once.
std::vector<int> stages_of(const Mesh& mesh, int num_units);

/// What tensor parallelism leaves of a parameter on rank `tp_rank` of `tp`: a slice of `split.dim`, of whole
/// heads (features, rows of the vocabulary), or all of it where it is not cut. Slices may be uneven; with
/// fewer shards than ranks, several ranks hold the same.
Piece slice_of(const model::ParamSpec& param, int tp, int tp_rank);
/// Whether that rank owns the slice: the first of those that hold it.
bool owns_slice(const model::ParamSpec& param, int tp, int tp_rank);

}  // namespace dt::parallel
