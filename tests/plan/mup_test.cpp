#include "plan/mup.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::plan;
using kernels::OptimizerKind;

namespace {

/// Returns the preset with one layer.
model::ModelSpec one_layer(const char* preset) {
  model::ModelSpec spec = model::load_model_spec(preset);
  spec.layers = 1;
  spec.attention = model::AttentionSpec{};
  return spec;
}

struct Expected {
  const char* name;
  MupFactors factors;
};

void check_factors(const char* preset, const MupRequest& request, OptimizerKind optimizer,
                   const std::vector<Expected>& expected) {
  const model::ModelSpec spec = one_layer(preset);
  const Mup mup(request, spec, optimizer);
  const model::ParameterTable table(spec);
  for (const Expected& e : expected) {
    const MupFactors factors = mup.factors(table, table.find(e.name));
    CAPTURE(preset, name_of(optimizer), e.name, factors.init, factors.lr);
    CHECK(factors == e.factors);
  }
}

void check_refused(const std::string& text, const char* preset, const MupRequest& request,
                   OptimizerKind optimizer) {
  try {
    Mup(request, one_layer(preset), optimizer);
    FAIL(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_THAT(error.what(), Catch::Contains(text));
  }
}

}  // namespace

TEST_CASE("a model four times as wide as its base has the factors of muP's table") {
  for (const OptimizerKind like_adam : {OptimizerKind::adamw, OptimizerKind::lion})
    check_factors("gpt2-124m", {192, {}}, like_adam,
                  {{"embedding.token.weight", {}},
                   {"embedding.position.weight", {}},
                   {"layers.0.attention_norm.weight", {}},
                   {"layers.0.attention.q.weight", {0.5, 0.25}},
                   {"layers.0.attention.q.bias", {}},
                   {"layers.0.mlp.down.weight", {0.5, 0.25}},
                   {"final_norm.weight", {0.25, 0.25}},
                   {"final_norm.bias", {0.25, 0.25}}});
  check_factors("llama-8b", {1024, {}}, OptimizerKind::sgd,
                {{"embedding.token.weight", {1, 4}},
                 {"head.weight", {1, 4}},
                 {"layers.0.mlp_norm.weight", {1, 4}},
                 {"layers.0.mlp.gate.weight", {0.5, 1}},
                 {"final_norm.weight", {0.25, 0.25}}});
  check_factors("gpt2-124m", {192, {}}, OptimizerKind::muon,
                {{"embedding.token.weight", {}},
                 {"layers.0.mlp.up.weight", {0.5, 0.5}},
                 {"layers.0.mlp.up.bias", {}},
                 {"final_norm.weight", {0.25, 0.25}}});
}

TEST_CASE("larger heads have smaller scores, by their queries or the queries' norm") {
  check_factors("gpt2-124m", {192, 16}, OptimizerKind::adamw,
                {{"layers.0.attention.q.weight", {0.25, 0.125}},
                 {"layers.0.attention.q.bias", {0.5, 0.5}},
                 {"layers.0.attention.k.weight", {0.5, 0.25}}});
  check_factors("gpt2-124m", {192, 16}, OptimizerKind::sgd,
                {{"layers.0.attention.q.weight", {0.25, 0.25}}, {"layers.0.attention.q.bias", {0.5, 1}}});
  check_factors("qwen3-0.6b", {256, 32}, OptimizerKind::muon,
                {{"layers.0.attention.q.weight", {0.5, 0.5}},
                 {"layers.0.attention.q_norm.weight", {0.5, 0.5}},
                 {"layers.0.attention.k_norm.weight", {}}});
  check_factors("qwen3-0.6b", {256, {}}, OptimizerKind::sgd,
                {{"layers.0.attention.k_norm.weight", {}}, {"layers.0.mlp_norm.weight", {1, 4}}});
}

TEST_CASE("a base of the model's own width, and no base, change nothing") {
  for (const OptimizerKind optimizer :
       {OptimizerKind::adamw, OptimizerKind::lion, OptimizerKind::sgd, OptimizerKind::muon}) {
    const model::ModelSpec spec = one_layer("gpt2-124m");
    const model::ParameterTable table(spec);
    for (const MupRequest& request : {MupRequest{768, {}}, MupRequest{}}) {
      const Mup mup(request, spec, optimizer);
      for (int param = 0; param < static_cast<int>(table.params().size()); ++param)
        CHECK(mup.factors(table, param) == MupFactors{});
    }
  }
}

TEST_CASE("a model or an optimizer that cannot hold a multiplier is refused, with the option") {
  check_refused("--mup-base-width cannot be combined with a gemma3_text model", "gemma3-1b", {64, {}},
                OptimizerKind::adamw);
  check_refused("--mup-base-head-dim 16 differs from the model's head size 64: --optimizer muon", "gpt2-124m",
                {64, 16}, OptimizerKind::muon);
}
