// Qwen2 and Qwen2.5.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config);
  require_silu(config);
  config.require("attention_bias", {true});
  config.require("mlp_bias", {false});
  s.qkv_bias = true;
  set_windows(s, read_windows_from_layer(config, s.layers));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  write_windows_from_layer(s, json);
  return json;
}

}  // namespace

const Family qwen2{"qwen2", "Qwen2ForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
