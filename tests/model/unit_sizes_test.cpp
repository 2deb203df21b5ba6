#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "model/tiny_models.hpp"
#include "model/units/unit.hpp"
#include "support/unit_runner.hpp"

using namespace dt;
using namespace dt::model;
using test::Batch;
using test::Decoder;
using test::tiny_gpt2;

TEST_CASE("units say what they take and give") {
  const ModelSpec spec = tiny_gpt2(true);
  const ParameterTable table(spec);
  const auto units = make_units(Device::host(), spec, table, DType::f32);
  REQUIRE(units.size() == 4);
  CHECK(units[0]->spec().kind == UnitKind::embedding);
  CHECK(units[2]->spec().name == "layers.1");
  CHECK(units[1]->output_shape(2, 5) == Shape{10, 12});
  CHECK(units[1]->output_dtype() == DType::f32);
  CHECK(units[3]->output_shape(2, 5) == Shape{10});
  CHECK(units[3]->output_dtype() == DType::f64);
  CHECK(units[0]->saved_bytes(2, 5) == 0);
  for (const auto& unit : units) CHECK(unit->saved_bytes(2, 5) % 64 == 0);
  // A row has 15C + H + 4 elements if F is four times C. Here F is 20 and C 12.
  const std::size_t elements = 10 * (7 * 12 + 2 * 20 + 3 + 4) + 4 * 12;
  const std::size_t bytes = units[1]->saved_bytes(2, 5);
  CHECK((bytes >= 4 * elements && bytes < 4 * elements + 16 * 64));
}

TEST_CASE("the head counts the padding of logits on GPUs, and of its matrix") {
  ModelSpec spec = tiny_gpt2(true);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& [vocabulary, matrix] : {std::pair(259, 320 * 12), std::pair(264, 0)}) {
      spec.vocabulary = vocabulary;
      const auto units = make_units(Device::host(), spec, ParameterTable(spec), dtype);
      const auto bytes = [&](Device device, int unit) {
        return units[static_cast<std::size_t>(unit)]->scratch_bytes(device, 2, 16);
      };
      const auto padding = static_cast<std::size_t>(2 * 16 * (320 - vocabulary) + matrix);
      CHECK(bytes(Device::gpu(0), 3) - bytes(Device::host(), 3) == padding * dtype_bytes(dtype));
      CHECK(bytes(Device::gpu(0), 1) == bytes(Device::host(), 1));
    }
  }
}

TEST_CASE("the head goes over thousands of rows at once on a GPU, and over fewer on the CPU") {
  ModelSpec spec = tiny_gpt2(true);
  spec.vocabulary = 50304;
  const auto units = make_units(Device::host(), spec, ParameterTable(spec), DType::bf16);
  const auto rows = [&](Device device) {  // in multiples of 16; the rest of the scratch is less than that
    return units[3]->scratch_bytes(device, 16, 1024) / (16 * 50304 * sizeof(std::uint16_t)) * 16;
  };
  CHECK(rows(Device::host()) == 1024);
  CHECK(rows(Device::gpu(0)) == 4096);
}

TEST_CASE("a block hands its gradients over in what it saved, and beside that only what it made again") {
  // Rows and widths fill whole cache lines, so that bytes are exact.
  const std::int64_t B = 2, T = 16, R = B * T, C = 64, F = 96, H = 4, D = 16;
  for (const char* family : {"gpt2-124m", "llama-tiny"}) {
    ModelSpec s = load_model_spec(family);
    const bool is_llama = s.feed_forward[0] == &swiglu_mlp();
    const std::int64_t K = is_llama ? 2 : H, G = is_llama ? 2 * F : F;
    s.hidden = C, s.mlp_hidden = F, s.query_heads = H, s.key_value_heads = K, s.head_dim = D;
    const ParameterTable table(s);
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const auto element = static_cast<std::int64_t>(dtype_bytes(dtype)),
                 statistic = static_cast<std::int64_t>(dtype_bytes(statistics_dtype(dtype)));
      const std::int64_t norm = is_llama ? R + C : 2 * (R + C);
      const std::int64_t matmuls =
          element * R * (C + (H + 2 * K) * D + H * D + G) + statistic * (2 * norm + R * H);
      const std::int64_t remade = element * R * (2 * C + F);
      const auto bytes = [&](SavedActivations saved) {
        const auto units = make_units(Device::host(), s, table, dtype, saved);
        return std::pair<std::int64_t, std::int64_t>(units[1]->saved_bytes(B, T),
                                                     units[1]->backward_handoff_bytes(Device::host(), B, T));
      };
      INFO(family << " element " << element);
      CHECK(bytes(SavedActivations::all) == std::pair(matmuls + remade, std::int64_t{0}));
      CHECK(bytes(SavedActivations::matmuls) == std::pair(matmuls, remade));
      const auto block = std::move(make_units(Device::host(), s, table, dtype)[1]);
      const std::int64_t apart = dtype == DType::bf16 ? element * R * (H + 2 * K) * D : 0;
      CHECK(static_cast<std::int64_t>(block->backward_handoff_bytes(Device::gpu(0), B, T)) == apart);
    }
  }
}

TEST_CASE("the form of a block decides what it saves and hands over") {
  const std::int64_t B = 2, T = 16, R = B * T, C = 64, F = 96, H = 4, K = 2, D = 16;
  ModelSpec base = load_model_spec("llama-tiny");
  base.hidden = C, base.mlp_hidden = F, base.query_heads = H, base.key_value_heads = K, base.head_dim = D;
  // Tensors of C features: the second branch's input, normalized inputs and outputs, gradients of
  // scaled outputs, an input that is not normalized, gradients of outputs gathered over ranks.
  struct Expected {
    std::int64_t x1, inputs, outputs, scaled, unnormalised, gathered;
    std::int64_t statistics;  // including the gradients of norms
  };
  const std::int64_t rms = R + C, with_bias = 2 * (R + C), without_bias = 2 * R + C;
  const std::vector<Expected> expected{{1, 2, 2, 0, 0, 2, 4 * rms},       {1, 0, 2, 0, 1, 2, 2 * rms},
                                       {0, 2, 0, 0, 0, 1, 2 * with_bias}, {0, 1, 0, 0, 0, 1, without_bias},
                                       {1, 2, 0, 2, 0, 2, 2 * rms},       {1, 2, 2, 0, 0, 2, 4 * rms},
                                       {0, 1, 0, 1, 0, 1, without_bias}};
  const std::vector<test::BlockForm> forms = test::block_forms(base);
  REQUIRE(forms.size() == expected.size());
  for (std::size_t form = 0; form < forms.size(); ++form) {
    const ModelSpec& s = forms[form].spec;
    const Expected& e = expected[form];
    const ParameterTable table(s);
    const TensorParallelOps divided({.rank = 1, .size = 2, .sequence_parallel = true});
    const auto bytes = [&](SavedActivations saved, const TensorParallelOps& ops) {
      const auto block = std::move(make_units(Device::host(), s, table, DType::f32, saved, ops)[1]);
      return std::pair<std::int64_t, std::int64_t>(block->saved_bytes(B, T),
                                                   block->backward_handoff_bytes(Device::host(), B, T));
    };
    INFO(forms[form].name);
    const std::int64_t saved =
        4 * (R * ((e.x1 + e.outputs) * C + 2 * (H + K) * D + 2 * F) + e.statistics + R * H);
    const std::int64_t remade = 4 * R * (e.inputs * C + F), handoff = 4 * R * C * (e.scaled + e.unnormalised);
    CHECK(bytes(SavedActivations::all, single_rank_ops()) == std::pair(saved + remade, handoff));
    CHECK(bytes(SavedActivations::matmuls, single_rank_ops()) == std::pair(saved, handoff + remade));
    CHECK(bytes(SavedActivations::all, divided).second == handoff / 2 + 4 * R * C * e.gathered);
  }
}

TEST_CASE("a block with normalized queries and keys saves them as they were, and their statistics") {
  const std::int64_t B = 2, T = 16, R = B * T, H = 4, K = 2, D = 16;
  ModelSpec s = load_model_spec("llama-tiny");
  s.query_heads = H, s.key_value_heads = K, s.head_dim = D;
  for (const DType dtype : {DType::f64, DType::bf16}) {
    for (const SavedActivations saved : {SavedActivations::all, SavedActivations::matmuls}) {
      const auto bytes = [&](QkNorm norm) {
        ModelSpec spec = s;
        spec.qk_norm = norm;
        return static_cast<std::int64_t>(
            make_units(Device::host(), spec, ParameterTable(spec), dtype, saved)[1]->saved_bytes(B, T));
      };
      const auto element = static_cast<std::int64_t>(dtype_bytes(dtype)),
                 statistic = static_cast<std::int64_t>(dtype_bytes(statistics_dtype(dtype)));
      const std::int64_t inputs = element * R * (H + K) * D;
      CHECK(bytes(QkNorm::per_head) - bytes(QkNorm::none) == inputs + statistic * (R * (H + K) + 2 * D));
      CHECK(bytes(QkNorm::full_width) - bytes(QkNorm::none) == inputs + statistic * (R * 2 + (H + K) * D));
    }
  }
}

TEST_CASE("parameters that do not lie beside each other, or too little memory, are refused") {
  Context context(1, Device::host());
  const ModelSpec spec = tiny_gpt2(true);
  Decoder decoder(spec, DType::f32);
  Batch batch = Batch::arbitrary(spec, 1, 4);
  const Unit& block = *decoder.units()[1];
  const test::OwnedTensor x(DType::f32, block.output_shape(1, 4));
  const test::OwnedTensor y(DType::f32, block.output_shape(1, 4));
  const Buffer saved(Device::host(), block.saved_bytes(1, 4));
  std::vector<Tensor> weights = decoder.unit_weights(1);
  CHECK_NOTHROW(block.forward(context, batch.whole(), weights, x.tensor, y.tensor, saved.span()));
  CHECK_THROWS_AS(block.forward(context, batch.whole(), weights, x.tensor, y.tensor, saved.span().first(64)),
                  Error);
  CHECK_THROWS_AS(block.forward(context, batch.whole(), weights, x.tensor, y.tensor, {}), Error);
  const test::OwnedTensor elsewhere(DType::f32, weights[3].shape());
  weights[3] = elsewhere.tensor;
  CHECK_THROWS_AS(block.forward(context, batch.whole(), weights, x.tensor, y.tensor, saved.span()), Error);
  weights.pop_back();
  CHECK_THROWS_AS(block.forward(context, batch.whole(), weights, x.tensor, y.tensor, saved.span()), Error);
}
