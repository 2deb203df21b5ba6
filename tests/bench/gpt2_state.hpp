#pragma once
// The state of GPT-2 124M with any number of layers, in fp32: weights and both moments.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/writer.hpp"
#include "model/parameter_table.hpp"
#include "tensor/buffer.hpp"

namespace dt_bench {

using namespace dt;

/// All pieces of a state, in one block of memory, with random bits.
struct Gpt2State {
  model::ModelSpec spec;
  Buffer memory;
  std::vector<checkpoint::SourcePiece> pieces;

  explicit Gpt2State(std::int64_t layers) : spec(model::load_model_spec("gpt2-124m")) {
    spec.layers = layers;
    const model::ParameterTable table(spec);
    memory = Buffer(Device::host(), static_cast<std::size_t>(3 * 4 * table.num_parameters()));
    std::uint64_t seed = 1;
    for (std::uint64_t& word : std::span(reinterpret_cast<std::uint64_t*>(memory.data()), memory.bytes() / 8))
      word = seed = seed * 6364136223846793005 + 1442695040888963407;
    auto* next = static_cast<std::byte*>(memory.data());
    for (const model::ParamSpec& param : table.params()) {
      for (const char* kind :
           {checkpoint::kind_weights, checkpoint::kind_first_moment, checkpoint::kind_second_moment}) {
        pieces.push_back({param.name, kind, Piece::whole(param.shape),
                          Tensor(next, DType::f32, param.shape, Device::host())});
        next += pieces.back().data.bytes();
      }
    }
  }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(memory.data()), memory.bytes()}; }
};

}  // namespace dt_bench
