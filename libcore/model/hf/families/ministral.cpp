// Ministral.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config);
  require_silu(config);
  config.require("attention_bias", {false});
  const std::optional<std::int64_t> window = read_window_size(config);
  const auto slides = [&](std::int64_t) { return window.has_value(); };
  set_windows(s, windows_of(read_layer_types(config, s.layers, slides), window));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["sliding_window"] = number_or_null(first_window(s));
  write_layer_types(s, json);
  return json;
}

}  // namespace

const Family ministral{"ministral", "MinistralForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
