// Mistral.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_without_biases(config);
  config.require("mlp_bias", {false});
  const std::optional<std::int64_t> window = read_window_size(config);
  set_windows(s, window);
  config.require_each("layer_types", {window ? "sliding_attention" : "full_attention"});
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["sliding_window"] = number_or_null(s.attention[0].window);
  return json;
}

}  // namespace

const Family mistral{
    "mistral", "MistralForCausalLM", read, write, {.rules = llama_rules, .may_be_wrapped = true}};

}  // namespace dt::model::hf
