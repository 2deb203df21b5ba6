#include "model/flops.hpp"

#include <catch2/catch.hpp>

#include "model/parameter_table.hpp"

using namespace dt::model;

namespace {

/// Returns the parameters in matrix products: the model's FLOPs without attention, divided by 6.
double matmul_parameters(const ModelSpec& spec) {
  return flops_per_token(spec, 0) / 6;
}

}  // namespace

TEST_CASE("matmul parameters are all matrices, the head also when tied, the embeddings not") {
  const ModelSpec gpt2 = load_model_spec("gpt2-124m");
  CHECK(matmul_parameters(gpt2) == 12 * (12 * 768 * 768) + 50257 * 768);

  for (const std::string& name : preset_names()) {
    const ModelSpec spec = load_model_spec(name);
    std::int64_t matrices = spec.tied ? spec.vocabulary * spec.hidden : 0;
    const ParameterTable table(spec);
    for (const ParamSpec& param : table.params()) {
      if (param.shape.rank() == 2 && !param.name.starts_with("embedding.")) matrices += param.shape.numel();
    }
    CHECK(matmul_parameters(spec) == static_cast<double>(matrices));
  }
}

TEST_CASE(
    "a block has three products of its matrices and attention's on top, the head three, the embedding none") {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.attention = AttentionSpec{.window = 30};
  const double matrices = 2.0 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176), attention = 4.0 * 4 * 16 * 30;
  const std::vector<UnitFlops> units = unit_flops_per_token(spec, 100);
  REQUIRE(units.size() == 4);
  CHECK(units[0].sum() == 0);
  for (const UnitFlops& block : {units[1], units[2]}) {
    CHECK(block.forward == matrices + attention);
    CHECK(block.backward_input == matrices + 2 * attention);
    CHECK(block.backward_weight == matrices);
  }
  CHECK(units[3].forward == 2.0 * 320 * 64);
  spec.attention = PerLayer(std::vector<AttentionSpec>{{.window = 30}, {}});
  CHECK(unit_flops_per_token(spec, 100)[1].forward == matrices + attention);
  CHECK(unit_flops_per_token(spec, 100)[2].forward == matrices + attention * 100 / 30);
  CHECK(units[3].sum() == 3 * units[3].forward);
}

TEST_CASE("FLOPs per token are 6 per matmul parameter and 12 · layers · heads · head size · keys") {
  const ModelSpec spec = load_model_spec("llama-tiny");
  // Each layer has q 64·64, k and v 64·32, output 64·64 and three MLP matrices 64·176; the head has
  // 320·64.
  CHECK(matmul_parameters(spec) == 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176) + 320 * 64);
  CHECK(flops_per_token(spec, 100) == 6.0 * 112640 + 12.0 * 2 * 4 * 16 * 100);
  ModelSpec windowed = spec;
  windowed.attention = AttentionSpec{.window = 30};
  CHECK(flops_per_token(windowed, 100) == 6.0 * 112640 + 12.0 * 2 * 4 * 16 * 30);
  CHECK(flops_per_token(windowed, 20) == flops_per_token(spec, 20));
}
