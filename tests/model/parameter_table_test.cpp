#include "model/parameter_table.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/core.h>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "support/block_forms.hpp"
#include "support/expert_table.hpp"
#include "support/whole_layout.hpp"

using namespace dt;
using namespace dt::model;

namespace {

const ParamSpec& param_of(const ParameterTable& table, const std::string& name) {
  const int p = table.find(name);
  REQUIRE(p >= 0);
  return table.params()[static_cast<std::size_t>(p)];
}

ModelSpec untied_gpt2() {
  ModelSpec spec = load_model_spec("gpt2-124m");
  spec.tied = false;
  return spec;
}

ModelSpec tied_llama_with_biases() {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.tied = spec.qkv_bias = spec.attention_output_bias = spec.mlp_bias = true;
  spec.hidden = 36;  // nothing is a multiple of 16
  spec.head_dim = 6;
  spec.mlp_hidden = 55;
  spec.vocabulary = 321;
  return spec;
}

/// Returns a model with biases on q, k and v only.
ModelSpec untied_qwen2() {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.family = "qwen2";
  spec.qkv_bias = true;
  return spec;
}

std::vector<ModelSpec> various_specs() {
  std::vector<ModelSpec> specs{untied_gpt2(), tied_llama_with_biases(), untied_qwen2()};
  for (const std::string& name : preset_names()) specs.push_back(load_model_spec(name));
  return specs;
}

}  // namespace

TEST_CASE("presets have the published numbers of parameters") {
  const auto count = [](const char* preset) {
    return ParameterTable(load_model_spec(preset)).num_parameters();
  };
  CHECK(count("gpt2-124m") == 124'439'808);
  CHECK(count("gpt2-350m") == 354'823'168);
  CHECK(count("gpt2-774m") == 774'030'080);
  CHECK(count("gpt2-1.5b") == 1'557'611'200);
  CHECK(count("llama-1b") == 1'100'048'384);
  CHECK(count("llama-8b") == 8'030'261'248);
  CHECK(count("llama3-70b") == 70'553'706'496);
  CHECK(count("llama3-405b") == 405'853'388'800);
  CHECK(count("qwen3-0.6b") == 596'049'920);
  CHECK(count("qwen3-8b") == 8'190'735'360);
  CHECK(count("gemma3-1b") == 999'885'952);
  CHECK(count("olmo2-1b") == 1'484'916'736);
  CHECK(count("pythia-160m") == 162'322'944);
  CHECK(count("llama3.2-1b") == 1'235'814'400);
  CHECK(count("mistral-7b") == 7'241'732'096);
  CHECK(count("qwen2-0.5b") == 494'032'768);
}

TEST_CASE("names are unique and every parameter lies in one group, with one owner among its holders") {
  for (const ModelSpec& spec : various_specs()) {
    const ParameterTable table(spec);
    std::set<std::string> names;
    for (const ParamSpec& param : table.params()) names.insert(param.name);
    CHECK(names.size() == table.params().size());

    std::vector<int> seen(table.params().size(), 0);
    for (std::size_t g = 0; g < table.groups().size(); ++g) {
      const GroupSpec& group = table.groups()[g];
      CHECK_FALSE(group.params.empty());
      CHECK(std::count(group.units.begin(), group.units.end(), group.owner) == 1);
      for (int p : group.params) {
        ++seen[static_cast<std::size_t>(p)];
        CHECK(table.group_of(p) == static_cast<int>(g));
        for (int u : group.units) {
          const auto& used = table.units()[static_cast<std::size_t>(u)].params;
          CHECK(std::count(used.begin(), used.end(), p) == 1);
        }
      }
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
}

TEST_CASE("groups are laid out without overlap, aligned except where a parameter joins the one before it") {
  for (const ModelSpec& spec : various_specs()) {
    const ParameterTable table(spec);
    for (const GroupSpec& group : table.groups()) {
      const FlatLayout layout = dt_test::whole_layout(table, group);
      REQUIRE(layout.offsets.size() == group.params.size());
      std::int64_t end = 0;
      for (std::size_t i = 0; i < group.params.size(); ++i) {
        const ParamSpec& param = table.params()[static_cast<std::size_t>(group.params[i])];
        if (param.contiguous_with_previous) {
          CHECK(layout.offsets[i] == end);
        } else {
          CHECK(layout.offsets[i] % 16 == 0);
          CHECK((layout.offsets[i] >= end && layout.offsets[i] < end + 16));
        }
        end = layout.offsets[i] + param.shape.numel();
      }
      CHECK(layout.numel % 16 == 0);
      CHECK((layout.numel >= end && layout.numel < end + 16));
    }
  }
}

TEST_CASE("k and v join q, up joins gate, weights and biases alike, and nothing else joins") {
  const ParameterTable table(tied_llama_with_biases());
  std::set<std::string> joining;
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const ParamSpec& param = table.params()[p];
    if (!param.contiguous_with_previous || !param.name.starts_with("layers.0.")) continue;
    joining.insert(param.name.substr(9) + " behind " + table.params()[p - 1].name.substr(9));
  }
  CHECK(joining == std::set<std::string>{
                       "attention.k.weight behind attention.q.weight",
                       "attention.v.weight behind attention.k.weight",
                       "attention.k.bias behind attention.q.bias", "attention.v.bias behind attention.k.bias",
                       "mlp.up.weight behind mlp.gate.weight", "mlp.up.bias behind mlp.gate.bias"});
}

TEST_CASE("the form of a block decides its norms") {
  const auto norms_of = [](const ModelSpec& spec) {
    std::string all;
    const ParameterTable table(spec);
    for (const int p : table.units()[1].params) {
      const ParamSpec& param = table.params()[static_cast<std::size_t>(p)];
      const std::string name = param.name.substr(9);
      if (name.find("norm") == std::string::npos && name != "attention.output.weight" &&
          name != "mlp.down.weight")
        continue;
      all += name + " ";
      if (name.find("norm") == std::string::npos) continue;
      CHECK_FALSE(param.decays);
      if (name.ends_with("weight"))
        CHECK((param.init.kind == Init::Kind::zeros) == spec.norm_weight_plus_one);
    }
    return all;
  };
  const std::vector<std::string> expected{
      "attention_norm.weight attention.output.weight attention_output_norm.weight "
      "mlp_norm.weight mlp.down.weight mlp_output_norm.weight ",
      "attention.output.weight attention_output_norm.weight mlp.down.weight mlp_output_norm.weight ",
      "attention_norm.weight attention_norm.bias attention.output.weight "
      "mlp_norm.weight mlp_norm.bias mlp.down.weight ",
      "attention_norm.weight attention.output.weight mlp.down.weight ",
      "attention_norm.weight attention.output.weight mlp_norm.weight mlp.down.weight "};
  const std::vector<test::BlockForm> forms = test::block_forms(load_model_spec("llama-tiny"));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(forms[i].name);
    CHECK(norms_of(forms[i].spec) == expected[i]);
  }
  ModelSpec refused = load_model_spec("llama-tiny");
  refused.shared_norm = true;
  CHECK_THROWS_AS(ParameterTable(refused), Error);
  refused.parallel_branches = true;
  CHECK_NOTHROW(ParameterTable(refused));
  refused.norm_placement = NormPlacement::around;
  CHECK_THROWS_AS(ParameterTable(refused), Error);
}

TEST_CASE("slices of parameters are laid out by the same rule") {
  const ParameterTable table(tied_llama_with_biases());
  const GroupSpec& block = table.groups()[1];
  REQUIRE(block.name == "layers.0");
  const std::vector<std::int64_t> numels(block.params.size(), 5);
  const FlatLayout layout = table.flat_layout(block.params, {numels}, 0);
  // The order is: norm, q k v weights, q k v biases, output weight and bias, norm, gate up weights,
  // gate up biases, down weight and bias.
  CHECK(layout.offsets ==
        std::vector<std::int64_t>{0, 16, 21, 26, 32, 37, 42, 48, 64, 80, 96, 101, 112, 117, 128, 144});
  CHECK(layout.numel == 160);
}

TEST_CASE("with slices of several sizes, what joins nothing begins at the same element on all ranks") {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.layers = 1;
  const ParameterTable table(spec);
  const auto param = [&](const char* name) {
    return table.find(fmt::format("layers.0.mlp.{}.weight", name));
  };
  const std::vector params = {param("gate"), param("up"), param("down"), table.find("final_norm.weight")};
  const std::vector<std::vector<std::int64_t>> numels = {{10, 10, 5, 3}, {14, 13, 40, 3}};
  const FlatLayout less = table.flat_layout(params, numels, 0), more = table.flat_layout(params, numels, 1);
  CHECK(less.offsets == std::vector<std::int64_t>{0, 10, 32, 80});
  CHECK(more.offsets == std::vector<std::int64_t>{0, 14, 32, 80});
  CHECK(less.numel == 96);
  CHECK(more.numel == 96);
}

TEST_CASE("a tied table is a group of its own, held by both ends and owned by the first") {
  const ParameterTable gpt2(load_model_spec("gpt2-124m"));
  const int last = static_cast<int>(gpt2.units().size()) - 1;
  CHECK(last == 13);
  CHECK(gpt2.groups()[0].name == "embedding");
  CHECK(gpt2.groups()[0].params == std::vector<int>{gpt2.find("embedding.position.weight")});
  CHECK(gpt2.groups()[1].name == "tied");
  CHECK(gpt2.groups()[1].params == std::vector<int>{gpt2.find("embedding.token.weight")});
  CHECK(gpt2.groups()[1].units == std::vector<int>{0, last});
  CHECK(gpt2.groups()[1].owner == 0);
  CHECK(gpt2.find("head.weight") == -1);
  CHECK(gpt2.units().back().params == std::vector<int>{gpt2.find("final_norm.weight"),
                                                       gpt2.find("final_norm.bias"),
                                                       gpt2.find("embedding.token.weight")});

  // A tied Llama's embedding has no parameter of its own, so it gets no group.
  const ParameterTable llama(tied_llama_with_biases());
  CHECK(llama.groups()[0].name == "tied");
  CHECK(llama.groups().size() == 1 + 2 + 1);
}

TEST_CASE("a unit's experts are a group of their own, which fewer ranks sum") {
  const ParameterTable table = dt_test::expert_table({.experts = 5});
  CHECK(table.num_experts() == 5);
  std::vector<std::string> names;
  for (const GroupSpec& group : table.groups()) {
    names.push_back(group.name);
    const bool has_experts = group.name == "layers.0.experts";
    CHECK(group.reduction == (has_experts ? ReductionAxis::expert_data : ReductionAxis::data));
    for (const int p : group.params) {
      const bool is_expert =
          table.params()[static_cast<std::size_t>(p)].split_along(SplitAxis::expert) != nullptr;
      CHECK(is_expert == has_experts);
    }
  }
  CHECK(names == std::vector<std::string>{"tied", "layers.0", "layers.0.experts", "head"});
  CHECK(table.groups()[2].params == std::vector<int>{4, 5, 6});
  CHECK(table.groups()[2].owner == 1);

  const auto table_of = [](const Splits& splits) {
    return ParameterTable({{"w", {4, 6}, {}, true, splits}}, {{UnitKind::block, "layers.0", 0, {0}}});
  };
  CHECK_NOTHROW(table_of({{0, 4, SplitAxis::expert}, {1, 6}}));
  CHECK_THROWS_AS(table_of({{0, 4}, {1, 6}}), Error);
  CHECK_THROWS_AS(table_of({{0, 4, SplitAxis::expert}, {0, 4}}), Error);
}

TEST_CASE("an untied head has its own matrix and group") {
  const ParameterTable table(load_model_spec("llama-tiny"));
  CHECK(table.groups().size() == table.units().size());
  CHECK(table.groups().front().params == std::vector<int>{table.find("embedding.token.weight")});
  CHECK(table.groups().back().params ==
        std::vector<int>{table.find("final_norm.weight"), table.find("head.weight")});
  CHECK(table.units().back().params == table.groups().back().params);
}

TEST_CASE(
    "tensor parallelism cuts projections into heads and features, tables into rows, and replicates the "
    "rest") {
  const ParameterTable table(tied_llama_with_biases());
  const auto split = [&](const std::string& name) {
    const Splits& splits = param_of(table, name).splits;
    if (splits.empty()) return std::pair(-1, std::int64_t{1});
    CHECK(splits.size() == 1);
    CHECK(splits.front().axis == SplitAxis::tensor);
    return std::pair(splits.front().dim, splits.front().max_shards);
  };
  using Pair = std::pair<int, std::int64_t>;
  CHECK(split("embedding.token.weight") == Pair(0, 321));
  CHECK(split("layers.1.attention.q.weight") == Pair(0, 4));
  CHECK(split("layers.1.attention.q.bias") == Pair(0, 4));
  CHECK(split("layers.1.attention.k.weight") == Pair(0, 2));
  CHECK(split("layers.1.attention.v.bias") == Pair(0, 2));
  CHECK(split("layers.1.attention.output.weight") == Pair(1, 4));
  CHECK(split("layers.1.attention.output.bias").first == -1);
  CHECK(split("layers.1.mlp.gate.weight") == Pair(0, 55));
  CHECK(split("layers.1.mlp.up.bias") == Pair(0, 55));
  CHECK(split("layers.1.mlp.down.weight") == Pair(1, 55));
  CHECK(split("layers.1.mlp.down.bias").first == -1);
  CHECK(split("layers.1.mlp_norm.weight").first == -1);

  const ParameterTable gpt2(untied_gpt2());
  CHECK(param_of(gpt2, "embedding.position.weight").splits.empty());
  CHECK(param_of(gpt2, "head.weight").split_along(SplitAxis::tensor)->max_shards == 50257);
  CHECK(gpt2.num_experts() == 0);
}

TEST_CASE(
    "matrices and tables start normal and decay; norms start as one, biases at zero, and neither decays") {
  for (const ModelSpec& spec : various_specs()) {
    const ParameterTable table(spec);
    for (const ParamSpec& param : table.params()) {
      const bool matrix = param.shape.rank() == 2;
      CHECK(param.decays == matrix);
      CHECK((param.init.kind == Init::Kind::normal) == matrix);
      const bool is_zero = param.name.ends_with(".bias") || spec.norm_weight_plus_one;
      if (!matrix) CHECK((param.init.kind == Init::Kind::zeros) == is_zero);
    }
  }
}

TEST_CASE("GPT-2's output projections start smaller by √(2·layers), Llama's do not") {
  const ParameterTable gpt2(load_model_spec("gpt2-124m"));
  CHECK(param_of(gpt2, "layers.3.attention.output.weight").init.std == 0.02 / std::sqrt(24.0));
  CHECK(param_of(gpt2, "layers.3.mlp.down.weight").init.std == 0.02 / std::sqrt(24.0));
  CHECK(param_of(gpt2, "layers.3.mlp.up.weight").init.std == 0.02);
  const ParameterTable llama(load_model_spec("llama-8b"));
  CHECK(param_of(llama, "layers.3.mlp.down.weight").init.std == 0.02);
}

TEST_CASE("a spec that no config.json gives is refused") {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.key_value_heads = 3;
  CHECK_THROWS_AS(ParameterTable(spec), Error);
  spec = load_model_spec("llama-tiny");
  spec.head_dim = 7;
  CHECK_THROWS_AS(ParameterTable(spec), Error);
  spec = load_model_spec("llama-tiny");
  spec.layers = 0;
  CHECK_THROWS_AS(ParameterTable(spec), Error);
}

TEST_CASE("norms of queries and keys have a weight for a head, which all share, or for all heads") {
  ModelSpec spec = tied_llama_with_biases();
  spec.qk_norm = QkNorm::per_head;
  const ParameterTable of_head(spec);
  const ParamSpec& shared = param_of(of_head, "layers.1.attention.k_norm.weight");
  CHECK(shared.shape == Shape{6});
  CHECK(shared.init.kind == Init::Kind::ones);
  CHECK_FALSE(shared.decays);
  CHECK(shared.splits.empty());
  CHECK(shared.sums_over_tensor_ranks);
  const int output = of_head.find("layers.1.attention.output.bias");
  CHECK(of_head.find("layers.1.attention.q_norm.weight") == output + 1);
  CHECK(of_head.find("layers.1.attention.k_norm.weight") == output + 2);

  spec.qk_norm = QkNorm::full_width;
  spec.norm_weight_plus_one = true;
  const ParameterTable of_all(spec);
  for (const auto& [name, heads] : {std::pair("q", spec.query_heads), std::pair("k", spec.key_value_heads)}) {
    const ParamSpec& weight = param_of(of_all, fmt::format("layers.0.attention.{}_norm.weight", name));
    CHECK(weight.shape == Shape{heads * 6});
    CHECK(weight.init.kind == Init::Kind::zeros);
    CHECK(weight.split_along(SplitAxis::tensor)->max_shards == heads);
    CHECK_FALSE(weight.sums_over_tensor_ranks);
  }
}

TEST_CASE("a head may have an odd size if only some of its features rotate") {
  ModelSpec spec = tied_llama_with_biases();
  spec.head_dim = 5;
  CHECK_THROWS_AS(ParameterTable(spec), Error);
  AttentionSpec attention;
  attention.rotary.partial_factor = 0.8;
  spec.attention = attention;
  CHECK_NOTHROW(ParameterTable(spec));
  attention.rotary.partial_factor = 0.1;  // no feature at all
  spec.attention = attention;
  CHECK_THROWS_AS(ParameterTable(spec), Error);
}
