#pragma once
// The parameters of a decoder whose block has experts, before any ModelSpec describes one: weights with
// two splits, beside parameters with one and with none.

#include <cstdint>

#include "model/parameter_table.hpp"

namespace dt_test {

struct ExpertSizes {
  std::int64_t vocabulary = 613;
  std::int64_t hidden = 24;
  std::int64_t key_value_heads = 2;
  std::int64_t experts = 7;
  std::int64_t features = 131;
};

/// Returns the table of an embedding, one block and a head that shares the embedding's matrix. The
/// experts' matrices are [experts, output features, input features].
inline dt::model::ParameterTable expert_table(const ExpertSizes& s = {}) {
  using namespace dt::model;
  const Init normal{Init::Kind::normal, 0.02}, ones{Init::Kind::ones, 0};
  const Split experts{0, s.experts, SplitAxis::expert};
  const auto features = [&](int dim) { return Split{dim, s.features, SplitAxis::tensor}; };
  std::vector<ParamSpec> params{
      {"embedding.token.weight", {s.vocabulary, s.hidden}, normal, true, {{0, s.vocabulary}}},
      {"layers.0.attention_norm.weight", {s.hidden}, ones, false, {}},
      {"layers.0.attention.k.weight",
       {6 * s.key_value_heads, s.hidden},
       normal,
       true,
       {{0, s.key_value_heads}}},
      {"layers.0.mlp.router.weight", {s.experts, s.hidden}, normal, true, {}},
      {"layers.0.mlp.experts.up.weight",
       {s.experts, s.features, s.hidden},
       normal,
       true,
       {experts, features(1)}},
      {"layers.0.mlp.experts.down.weight",
       {s.experts, s.hidden, s.features},
       normal,
       true,
       {experts, features(2)}},
      {"layers.0.mlp.experts.down.bias", {s.experts, s.hidden}, {}, false, {experts}},
      {"final_norm.weight", {s.hidden}, ones, false, {}}};
  std::vector<UnitSpec> units{{UnitKind::embedding, "embedding", -1, {0}},
                              {UnitKind::block, "layers.0", 0, {1, 2, 3, 4, 5, 6}},
                              {UnitKind::head, "head", -1, {7, 0}}};
  return {std::move(params), std::move(units)};
}

}  // namespace dt_test
