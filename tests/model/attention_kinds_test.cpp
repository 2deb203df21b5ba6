// Layers that attend in different ways.

#include <catch2/catch.hpp>
#include <vector>

#include "model/tiny_models.hpp"
#include "support/unit_runner.hpp"

using namespace dt;
using namespace dt::model;
using test::Batch;
using test::Decoder;

namespace {

/// Returns the output of a decoder's unit.
std::vector<double> output(const Context& context, const Decoder& decoder, std::size_t unit, Batch& batch,
                           const Tensor& x) {
  const Unit& u = *decoder.units()[unit];
  const test::OwnedTensor y(DType::f32, u.output_shape(batch.sequences, batch.length));
  const Buffer saved(Device::host(), u.saved_bytes(batch.sequences, batch.length));
  u.forward(context, batch.whole(), decoder.unit_weights(unit), x, y.tensor, saved.span());
  return test::to_doubles(y.tensor);
}

}  // namespace

TEST_CASE("each block computes what it does in a model whose layers all attend as it does") {
  const Context context(1, Device::host());
  const ModelSpec mixed = GENERATE(test::tiny_mixed_attention(), test::tiny_interleaved());
  Batch batch = Batch::arbitrary(mixed, 2, 9);
  std::vector<Decoder> uniform;
  for (std::int64_t layer = 0; layer < mixed.layers; ++layer) {
    ModelSpec spec = mixed;
    spec.attention = mixed.attention[layer];
    uniform.emplace_back(spec, DType::f32);
    uniform.back().initialise(7);
  }
  Decoder decoder(mixed, DType::f32);
  decoder.initialise(7);
  std::vector<double> values = output(context, decoder, 0, batch, {});
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (double& value : values) value *= 50;  // scores that tell keys apart
    const test::OwnedTensor x(DType::f32, decoder.units()[0]->output_shape(2, 9));
    test::from_doubles(values, x.tensor);
    values = output(context, decoder, layer + 1, batch, x.tensor);
    CHECK(values == output(context, uniform[layer], layer + 1, batch, x.tensor));
    CHECK(values != output(context, uniform[1 - layer], layer + 1, batch, x.tensor));
  }
}

TEST_CASE("longrope's frequencies follow the length of a micro-batch's sequences") {
  const Context context(1, Device::host());
  const ModelSpec long_model = test::tiny_longrope();
  const auto with = [&](bool are_long) {  // the same factors for all lengths
    ModelSpec spec = long_model;
    AttentionSpec attention = spec.attention[0];
    kernels::RotaryScaling& scaling = *attention.rotary.scaling;
    (are_long ? scaling.short_factors : scaling.long_factors) =
        are_long ? scaling.long_factors : scaling.short_factors;
    spec.attention = attention;
    return spec;
  };
  const auto outputs = [&](const ModelSpec& spec, std::int64_t length) {
    Batch batch = Batch::arbitrary(long_model, 2, length);
    Decoder decoder(spec, DType::f32);
    decoder.initialise(7);
    std::vector<double> values = output(context, decoder, 0, batch, {});
    for (double& value : values) value *= 50;
    const test::OwnedTensor x(DType::f32, decoder.units()[0]->output_shape(2, length));
    test::from_doubles(values, x.tensor);
    return output(context, decoder, 1, batch, x.tensor);
  };
  CHECK(outputs(long_model, 4) == outputs(with(false), 4));
  CHECK(outputs(long_model, 4) != outputs(with(true), 4));
  CHECK(outputs(long_model, 5) == outputs(with(true), 5));
  CHECK(outputs(long_model, 5) != outputs(with(false), 5));
}

TEST_CASE("blocks know the first layer of their kind") {
  ModelSpec spec = test::tiny_mixed_attention();
  spec.layers = 4;
  spec.attention = PerLayer(std::vector<AttentionSpec>{{}, {.window = 3}, {}, {.window = 3}});
  const std::vector<const FeedForwardKind*> kinds{&swiglu_mlp(), &swiglu_mlp(), &gelu_mlp(), &swiglu_mlp()};
  const auto alike = [&] {
    std::vector<int> first;
    const ParameterTable table(spec);
    for (const UnitSpec& unit : table.units()) first.push_back(unit.first_alike);
    return first;
  };
  CHECK(alike() == std::vector{-1, 0, 1, 0, 1, -1});
  spec.feed_forward = PerLayer(kinds);
  CHECK(alike() == std::vector{-1, 0, 1, 2, 1, -1});
}
