// Tests the factor of the embedding's output.

#include <catch2/catch.hpp>

#include "model/tiny_models.hpp"
#include "support/unit_runner.hpp"

using namespace dt;

TEST_CASE("the embedding's factor is rounded to the dtype in models that say so alone") {
  const bool rounds = GENERATE(false, true);
  model::ModelSpec spec = test::tiny_llama(false, true);
  spec.embedding_scale = 12.3;  // 12.3125 in bf16
  spec.rounds_embedding_scale = rounds;
  test::Decoder decoder(spec, DType::bf16);
  const Tensor& table = decoder.weight(0);
  test::from_doubles(std::vector<double>(static_cast<std::size_t>(table.numel()), 1.0078125), table);
  test::Batch batch = test::Batch::arbitrary(spec, 1, 4);
  test::Flight flight(decoder, batch.whole());
  flight.forward(Context(1, Device::host()), 0);
  const double expected = static_cast<float>(BFloat16(1.0078125F * (rounds ? 12.3125F : 12.3F)));
  for (const double value : test::to_doubles(flight.output(0))) CHECK(value == expected);
}
