#pragma once
// The list of parameters. Initialization, slicing, gradients, optimizer state, checkpoints and
// export all read it.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

struct Init {
  enum class Kind { zeros, ones, normal } kind = Kind::zeros;
  double std = 0;
};
/// Returns the initial values of a model's matrices, and of those whose products are added to the
/// residual stream.
Init normal_init(const ModelSpec& spec);
Init residual_init(const ModelSpec& spec);

/// The split of a parameter along `dim`, among the ranks of an axis of the mesh, into at most
/// `max_shards` parts. If the axis has more ranks, several hold the same part.
struct Split {
  int dim = 0;
  std::int64_t max_shards = 1;
  SplitAxis axis = SplitAxis::tensor;
};
/// The splits of one parameter: at most one for each axis, of different dims. The weights of experts
/// have two. A parameter without splits is whole on all ranks of its stage.
using Splits = std::vector<Split>;

/// A parameter. Names are dt's own, in Llama's style: embedding.token.weight,
/// embedding.position.weight, layers.3.attention_norm.weight,
/// layers.3.attention.{q,k,v,output}.{weight,bias}, layers.3.attention.{q,k}_norm.weight,
/// layers.3.attention_output_norm.weight, layers.3.mlp_norm.weight,
/// layers.3.mlp.{gate,up,down}.{weight,bias}, layers.3.mlp_output_norm.weight, final_norm.{weight,bias},
/// head.weight.
/// Shapes: matrices are [output features, input features]; the embedding is [vocabulary, hidden].
struct ParamSpec {
  std::string name;
  Shape shape;  // global, without padding
  Init init;
  bool decays = true;  // weight decay applies: to matrices and tables, not to norms and biases
  Splits splits;
  bool contiguous_with_previous =
      false;  // lies directly behind the parameter before it, so that one matmul serves both
  /// Heads share the parameter, so that each tensor-parallel rank has a part of its gradient: the sum over
  /// the rank's own heads.
  bool sums_over_tensor_ranks = false;

  /// Returns the split along an axis, or null if that axis does not split the parameter.
  const Split* split_along(SplitAxis axis) const;
};

enum class UnitKind { embedding, block, head };

/// The grain of schedules, reductions, gathering and recompute.
struct UnitSpec {
  UnitKind kind;
  std::string name;  // "embedding", "layers.0", ..., "head"
  int layer = -1;    // layer number of a block
  /// The unit's parameters as indices into the table, in the order in which its methods take them.
  std::vector<int> params;
  /// A block's first layer with the same attention and the same feed-forward kind. Blocks that have it
  /// in common compute by the same kernels.
  int first_alike = -1;
};

/// Parameters that share one flat buffer and one reduction. A tied table is a group of its own,
/// which the first and the last unit hold. A unit's experts are one, since fewer ranks sum them.
struct GroupSpec {
  std::string name;
  std::vector<int> params;
  std::vector<int> units;  // units that compute with it, in order
  int owner = 0;           // the unit whose rank keeps optimizer state, norm share and checkpoint piece
  ReductionAxis reduction = ReductionAxis::data;  // the ranks that sum its gradients
};

/// The places of parameters in a flat buffer, in elements.
struct FlatLayout {
  std::vector<std::int64_t> offsets;  // offset of each parameter; q, k, v (and gate, up) are adjacent
  std::int64_t numel = 0;             // includes padding; a multiple of 16
};

class ParameterTable {
 public:
  /// The alignment in elements (64 bytes of fp32) of each parameter in a flat layout. A parameter
  /// that joins the one before it is not aligned.
  static constexpr std::int64_t alignment = 16;

  /// Errors: internal for a spec that parse_hf_config() would have refused.
  explicit ParameterTable(const ModelSpec& spec);
  /// Creates the table of any units. A parameter that several units hold is a tied table.
  /// Errors: internal, an axis or a dim has two splits of one parameter.
  ParameterTable(std::vector<ParamSpec> params, std::vector<UnitSpec> units);
  const std::vector<ParamSpec>& params() const { return params_; }
  const std::vector<UnitSpec>& units() const { return units_; }
  const std::vector<GroupSpec>& groups() const { return groups_; }
  /// Returns the index of the group that holds a parameter.
  int group_of(int param) const { return group_of_[static_cast<std::size_t>(param)]; }
  /// Returns −1 if no parameter has the name.
  int find(const std::string& name) const;
  std::int64_t num_parameters() const;
  /// Returns how many ranks the experts may be divided among, or 0 if the model has no experts.
  std::int64_t num_experts() const;
  /// Returns the places of parameters on tensor-parallel rank `rank`. Rank r holds numels[r][i]
  /// elements of the i-th parameter. Parameters that join each other take as much room on each rank
  /// as on the rank that holds most of them. Thus a parameter that joins none begins at the same
  /// element on all ranks, and `numel` is the same.
  FlatLayout flat_layout(const std::vector<int>& params, const std::vector<std::vector<std::int64_t>>& numels,
                         int rank) const;

 private:
  void make_groups();
  void add_group(GroupSpec group);

  std::vector<ParamSpec> params_;
  std::vector<UnitSpec> units_;
  std::vector<GroupSpec> groups_;
  std::vector<int> group_of_;
  std::unordered_map<std::string, int> by_name_;
};

}  // namespace dt::model
