#pragma once
// The one list of parameters that drives initialisation, slicing, gradients, optimizer state, checkpoints and
// export.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/model_spec.hpp"
#include "tensor/shape.hpp"

namespace dt::model {

struct Init {
  enum class Kind { zeros, ones, normal } kind = Kind::zeros;
  double std = 0;
};

/// How tensor parallelism cuts a parameter: along `dim` into at most `max_shards` parts; dim −1 is
/// replicated.
struct Split {
  int dim = -1;
  std::int64_t max_shards = 1;
};

/// Names are dt's own, Llama-style: embedding.token.weight, embedding.position.weight,
/// layers.3.attention_norm.weight, layers.3.attention.{q,k,v,output}.{weight,bias}, layers.3.mlp_norm.weight,
/// layers.3.mlp.{gate,up,down}.{weight,bias}, final_norm.{weight,bias}, head.weight. Matrices are [output
/// features, input features]; the embedding [vocabulary, hidden].
struct ParamSpec {
  std::string name;
  Shape shape;  // global, without padding
  Init init;
  bool decays = true;  // weight decay: matrices and tables, not norms and biases
  Split split;
  bool joins_previous =
      false;  // lies directly behind the parameter before it, so that one matmul serves both
};

enum class UnitKind { embedding, block, head };

/// A grain of schedules, reductions, gathering and recomputation.
struct UnitSpec {
  UnitKind kind;
  std::string name;  // "embedding", "layers.0", ..., "head"
  int layer = -1;    // of a block
  /// That it computes with, as indices into the table, in the order its methods take them.
  std::vector<int> params;
};

/// Parameters that lie in one flat buffer and are reduced as one. A tied table is a group of its own, held by
/// both ends.
struct GroupSpec {
  std::string name;
  std::vector<int> params;
  std::vector<int> holders;  // units that compute with it, in order
  int owner = 0;             // the unit whose rank keeps optimizer state, norm share and checkpoint piece
};

/// Where parameters lie in a flat buffer, in elements.
struct FlatLayout {
  std::vector<std::int64_t> offsets;  // of each; q, k, v (and gate, up) adjacent
  std::int64_t numel = 0;             // padding included; a multiple of 16
};

class ParameterTable {
 public:
  /// Flat layouts start each parameter on a multiple of this many elements (64 bytes of fp32), unless it
  /// joins the one before it.
  static constexpr std::int64_t alignment = 16;

  /// Errors: internal, for a spec that parse_hf_config would have refused.
  explicit ParameterTable(const ModelSpec& spec);
  const std::vector<ParamSpec>& params() const { return params_; }
  const std::vector<UnitSpec>& units() const { return units_; }
  const std::vector<GroupSpec>& groups() const { return groups_; }
  /// Index of the group that holds a parameter.
  int group_of(int param) const { return group_of_[static_cast<std::size_t>(param)]; }
  /// −1 where there is none of that name.
  int find(const std::string& name) const;
  std::int64_t num_parameters() const;
  /// Where parameters lie on rank `rank` of those of tensor parallelism, of which each, r, holds numels[r][i]
  /// elements of the i-th. Parameters that join each other take as much room as they do on the rank that has
  /// most of them: so whatever joins none begins at the same element on all ranks, and `numel` is the same.
  FlatLayout lay_out(const std::vector<int>& params, const std::vector<std::vector<std::int64_t>>& numels,
                     int rank) const;

 private:
  void add_group(GroupSpec group);

  std::vector<ParamSpec> params_;
  std::vector<UnitSpec> units_;
  std::vector<GroupSpec> groups_;
  std::vector<int> group_of_;
  std::unordered_map<std::string, int> by_name_;
};

}  // namespace dt::model
