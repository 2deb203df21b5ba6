#include "model/arithmetic.hpp"

#include <catch2/catch.hpp>

#include "model/parameter_table.hpp"

using namespace dt::model;

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
    CHECK(matmul_parameters(spec) == matrices);
  }
}

TEST_CASE("FLOPs per token are 6 per matmul parameter and 12 · layers · heads · head size · keys") {
  const ModelSpec spec = load_model_spec("llama-tiny");
  // per layer q 64·64, k and v 64·32, output 64·64, three MLP matrices 64·176; head 320·64
  CHECK(matmul_parameters(spec) == 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176) + 320 * 64);
  CHECK(flops_per_token(spec, 100) == 6.0 * 112640 + 12.0 * 2 * 4 * 16 * 100);
  ModelSpec windowed = spec;
  windowed.sliding_window = 30;
  CHECK(flops_per_token(windowed, 100) == 6.0 * 112640 + 12.0 * 2 * 4 * 16 * 30);
  CHECK(flops_per_token(windowed, 20) == flops_per_token(spec, 20));
}
