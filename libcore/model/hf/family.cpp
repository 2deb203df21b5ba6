#include "model/hf/family.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/error.hpp"

namespace dt::model::hf {

std::span<const Family* const> families() {
  static const std::array all{&gpt2,        &llama,   &mistral,  &qwen2,     &qwen3,     &gemma2,
                              &gemma3_text, &olmo2,   &olmo3,    &phi3,      &smollm3,   &granite,
                              &glm4,        &cohere2, &gpt_neox, &ministral, &ministral3};
  return all;
}

const Family* find_family(const std::string& model_type) {
  const auto found = std::ranges::find_if(
      families(), [&](const Family* family) { return model_type == family->model_type; });
  return found == families().end() ? nullptr : *found;
}

void refuse_absurd_size(const ModelSpec& s, const std::string& origin) {
  constexpr double most_parameters = 1e15;
  constexpr std::int64_t most_layers = 16384;
  const auto d = [](std::int64_t n) { return static_cast<double>(n); };
  const double features =
      d(s.head_dim) * (2 * d(s.query_heads) + 2 * d(s.key_value_heads)) + 3 * d(s.mlp_hidden);
  const double parameters = d(s.hidden) * (d(s.layers) * features + 2 * d(s.vocabulary) + d(s.max_positions));
  if (parameters > most_parameters || s.layers > most_layers) {
    throw Error(
        ErrorKind::input,
        fmt::format("{}: the model is too large: {} layers and about {:.1e} parameters", origin, s.layers,
                    parameters),
        fmt::format("allowed: at most {} layers and {:.0e} parameters", most_layers, most_parameters));
  }
}

}  // namespace dt::model::hf
