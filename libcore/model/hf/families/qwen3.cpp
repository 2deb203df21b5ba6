// Qwen3.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

constexpr auto rules = with(llama_rules, qk_norm_rules);

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config, {.head_dim = 128});
  require_silu(config);
  config.require("mlp_bias", {false});
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.qk_norm = QkNorm::per_head;
  set_windows(s, read_windows_from_layer(config, s.layers));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["attention_bias"] = s.qkv_bias;
  write_windows_from_layer(s, json);
  return json;
}

}  // namespace

const Family qwen3{"qwen3", "Qwen3ForCausalLM", read, write, {rules}};

}  // namespace dt::model::hf
