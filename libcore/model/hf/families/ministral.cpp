// Ministral.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_without_biases(config);
  const std::optional<std::int64_t> window = read_window_size(config);
  const auto slides = [&](std::int64_t) { return window.has_value(); };
  set_windows(s, windows_of(read_layer_types(config, s.layers, slides), window));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  write_windows_by_layer(s, json);
  return json;
}

}  // namespace

const Family ministral{"ministral", "MinistralForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
