#include "model/parameter_table.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "kernels/rotary.hpp"
#include "model/layers/feed_forward.hpp"
#include "model/layers/residual_branch.hpp"

namespace dt::model {

namespace {

/// Builds the list of a spec's parameters, unit by unit.
class Builder {
 public:
  explicit Builder(const ModelSpec& spec)
      : spec_(spec), normal_(normal_init(spec)), residual_(residual_init(spec)) {}

  void embedding() {
    const auto& s = spec_;
    begin({UnitKind::embedding, "embedding", -1, {}});
    matrix("embedding.token.weight", {s.vocabulary, s.hidden}, normal_, {{0, s.vocabulary}});
    if (s.position == Position::learned)
      matrix("embedding.position.weight", {s.max_positions, s.hidden}, normal_, {});
  }

  void block(int layer) {
    prefix_ = fmt::format("layers.{}.", layer);
    begin({UnitKind::block, fmt::format("layers.{}", layer), layer, {}, first_alike(layer)});
    const BranchForm attends = attention_branch_form(spec_), feeds = feed_forward_branch_form(spec_);
    if (attends.normalises_input) norm("attention_norm");
    attention();
    if (attends.normalises_output) norm("attention_output_norm");
    if (feeds.normalises_input) norm("mlp_norm");
    for (ParamSpec& param : spec_.feed_forward[layer]->parameters(spec_)) {
      param.name = prefix_ + param.name;
      add(std::move(param));
    }
    if (feeds.normalises_output) norm("mlp_output_norm");
    prefix_.clear();
  }

  void head() {
    const auto& s = spec_;
    begin({UnitKind::head, "head", -1, {}});
    norm("final_norm");
    if (s.tied)
      units.back().params.push_back(0);
    else
      matrix("head.weight", {s.vocabulary, s.hidden}, normal_, {{0, s.vocabulary}});
  }

  std::vector<ParamSpec> params;
  std::vector<UnitSpec> units;

 private:
  int first_alike(int layer) const {
    int first = 0;
    while (spec_.attention[first] != spec_.attention[layer] ||
           spec_.feed_forward[first] != spec_.feed_forward[layer])
      ++first;
    return first;
  }
  void attention() {
    const auto& s = spec_;
    const std::int64_t q = s.query_heads * s.head_dim;
    const std::int64_t kv = s.key_value_heads * s.head_dim;
    const Splits q_heads{{0, s.query_heads}};
    const Splits kv_heads{{0, s.key_value_heads}};
    matrix("attention.q.weight", {q, s.hidden}, normal_, q_heads);
    matrix("attention.k.weight", {kv, s.hidden}, normal_, kv_heads, true);
    matrix("attention.v.weight", {kv, s.hidden}, normal_, kv_heads, true);
    if (s.qkv_bias) {
      bias("attention.q.bias", q, q_heads);
      bias("attention.k.bias", kv, kv_heads, true);
      bias("attention.v.bias", kv, kv_heads, true);
    }
    matrix("attention.output.weight", {s.hidden, q}, residual_, {{1, s.query_heads}});
    if (s.attention_output_bias) bias("attention.output.bias", s.hidden, {});
    if (s.qk_norm == QkNorm::none) return;
    qk_norm("attention.q_norm.weight", s.query_heads);
    qk_norm("attention.k_norm.weight", s.key_value_heads);
  }

  void qk_norm(const std::string& name, std::int64_t heads) {
    const bool is_shared = spec_.qk_norm == QkNorm::per_head;
    const std::int64_t features = is_shared ? spec_.head_dim : heads * spec_.head_dim;
    const Init::Kind one = spec_.norm_weight_plus_one ? Init::Kind::zeros : Init::Kind::ones;
    const Splits splits = is_shared ? Splits{} : Splits{{0, heads}};
    add({prefix_ + name, {features}, {one, 0}, false, splits, false, is_shared});
  }

  void norm(const std::string& name) {
    const Init::Kind one = spec_.norm_weight_plus_one ? Init::Kind::zeros : Init::Kind::ones;
    add({prefix_ + name + ".weight", {spec_.hidden}, {one, 0}, false, {}, false});
    if (spec_.norm == Norm::layer_norm && spec_.norm_bias) bias(name + ".bias", spec_.hidden, {});
  }

  void matrix(const std::string& name, Shape shape, Init init, Splits splits, bool joins = false) {
    add({prefix_ + name, std::move(shape), init, true, std::move(splits), joins});
  }
  void bias(const std::string& name, std::int64_t features, Splits splits, bool joins = false) {
    add({prefix_ + name, {features}, {}, false, std::move(splits), joins});
  }

  void begin(UnitSpec unit) { units.push_back(std::move(unit)); }
  void add(ParamSpec param) {
    units.back().params.push_back(static_cast<int>(params.size()));
    params.push_back(std::move(param));
  }

  const ModelSpec& spec_;
  Init normal_;
  Init residual_;
  std::string prefix_;
};

void check(const ModelSpec& s) {
  DT_CHECK(s.vocabulary > 0 && s.layers > 0 && s.hidden > 0 && s.head_dim > 0 && s.mlp_hidden > 0 &&
               s.max_positions > 0,
           "a model of vocabulary {}, layers {}, hidden {}, head size {}, MLP {}, positions {}", s.vocabulary,
           s.layers, s.hidden, s.head_dim, s.mlp_hidden, s.max_positions);
  DT_CHECK(s.key_value_heads > 0 && s.query_heads > 0 && s.query_heads % s.key_value_heads == 0,
           "{} query heads over {} key-value heads", s.query_heads, s.key_value_heads);
  DT_CHECK(!s.parallel_branches || s.norm_placement == NormPlacement::before,
           "parallel branches with norms on their outputs");
  DT_CHECK(!s.shared_norm || s.parallel_branches, "a shared norm of branches that are not parallel");
  DT_CHECK(s.feed_forward.fits(s.layers) && s.attention.fits(s.layers),
           "kinds of attention or feed-forward for other than {} layers", s.layers);
  for (std::int64_t layer = 0; s.position == Position::rotary && layer < s.layers; ++layer) {
    const std::int64_t pairs = kernels::num_rotary_frequencies(s.attention[layer].rotary, s.head_dim);
    DT_CHECK(!s.attention[layer].is_rotary || (pairs > 0 && 2 * pairs <= s.head_dim),
             "rotary positions of {} pairs of features with head size {}", pairs, s.head_dim);
  }
}

/// Returns whether two splits of a parameter are along one axis, or of one dim.
bool has_conflict(const Splits& splits) {
  for (std::size_t i = 0; i < splits.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (splits[i].axis == splits[j].axis || splits[i].dim == splits[j].dim) return true;
    }
  }
  return false;
}

}  // namespace

const Split* ParamSpec::split_along(SplitAxis axis) const {
  const auto found = std::ranges::find(splits, axis, &Split::axis);
  return found == splits.end() ? nullptr : &*found;
}

Init normal_init(const ModelSpec& spec) {
  return {Init::Kind::normal, spec.init_std};
}
Init residual_init(const ModelSpec& spec) {
  if (!spec.scaled_residual_init) return normal_init(spec);
  return {Init::Kind::normal, spec.init_std / std::sqrt(2.0 * static_cast<double>(spec.layers))};
}

ParameterTable::ParameterTable(const ModelSpec& spec) {
  check(spec);
  Builder builder(spec);
  builder.embedding();
  for (int layer = 0; layer < static_cast<int>(spec.layers); ++layer) builder.block(layer);
  builder.head();
  params_ = std::move(builder.params);
  units_ = std::move(builder.units);
  make_groups();
}

ParameterTable::ParameterTable(std::vector<ParamSpec> params, std::vector<UnitSpec> units)
    : params_(std::move(params)), units_(std::move(units)) {
  make_groups();
}

void ParameterTable::make_groups() {
  group_of_.assign(params_.size(), -1);
  by_name_.reserve(params_.size());
  for (std::size_t p = 0; p < params_.size(); ++p) {
    DT_CHECK(!has_conflict(params_[p].splits), "{} is split twice along an axis or a dim", params_[p].name);
    by_name_.emplace(params_[p].name, static_cast<int>(p));
  }
  std::vector<std::vector<int>> users(params_.size());  // units, by parameter
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const int p : units_[u].params) users[static_cast<std::size_t>(p)].push_back(static_cast<int>(u));
  }
  for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
    const UnitSpec& unit = units_[static_cast<std::size_t>(u)];
    GroupSpec own{unit.name, {}, {u}, u}, tied{"tied", {}, {}, u};
    GroupSpec experts{unit.name + ".experts", {}, {u}, u, ReductionAxis::expert_data};
    for (const int p : unit.params) {
      const std::vector<int>& holders = users[static_cast<std::size_t>(p)];
      if (holders.size() == 1) {
        const bool is_expert = params_[static_cast<std::size_t>(p)].split_along(SplitAxis::expert) != nullptr;
        (is_expert ? experts : own).params.push_back(p);
      } else if (holders.front() == u) {
        tied.params.push_back(p);
        tied.units = holders;
      }
    }
    for (GroupSpec* group : {&own, &experts, &tied}) add_group(std::move(*group));
  }
}

void ParameterTable::add_group(GroupSpec group) {
  if (group.params.empty()) return;
  for (int p : group.params) group_of_[static_cast<std::size_t>(p)] = static_cast<int>(groups_.size());
  groups_.push_back(std::move(group));
}

FlatLayout ParameterTable::flat_layout(const std::vector<int>& params,
                                       const std::vector<std::vector<std::int64_t>>& numels, int rank) const {
  std::vector<std::int64_t> ends(numels.size());  // ends[r]: elements laid out so far on rank r
  const auto next_aligned = [&ends] {
    const std::int64_t most = *std::max_element(ends.begin(), ends.end());
    return round_up(most, alignment);
  };
  FlatLayout layout;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params_[static_cast<std::size_t>(params[i])].contiguous_with_previous)
      std::fill(ends.begin(), ends.end(), next_aligned());
    layout.offsets.push_back(ends.at(static_cast<std::size_t>(rank)));
    for (std::size_t r = 0; r < numels.size(); ++r) ends[r] += numels[r].at(i);
  }
  layout.numel = next_aligned();
  return layout;
}

int ParameterTable::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

std::int64_t ParameterTable::num_parameters() const {
  std::int64_t total = 0;
  for (const ParamSpec& param : params_) total += param.shape.numel();
  return total;
}

std::int64_t ParameterTable::num_experts() const {
  std::int64_t fewest = 0;
  for (const ParamSpec& param : params_) {
    const Split* split = param.split_along(SplitAxis::expert);
    if (split && (fewest == 0 || split->max_shards < fewest)) fewest = split->max_shards;
  }
  return fewest;
}

}  // namespace dt::model
