// Mistral.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config);
  config.require("attention_bias", {false});
  config.require("mlp_bias", {false});
  const std::optional<std::int64_t> window = read_window_size(config);
  s.attention = AttentionSpec{.window = window, .rotary = s.attention[0].rotary};
  config.require_each("layer_types", {window ? "sliding_attention" : "full_attention"});
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["sliding_window"] = s.attention[0].window ? Json(*s.attention[0].window) : Json(nullptr);
  return json;
}

}  // namespace

const Family mistral{"mistral", "MistralForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
