// Llama.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config);
  require_silu(config);
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.mlp_bias = config.flag_or("mlp_bias", false);
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["attention_bias"] = s.qkv_bias;
  json["mlp_bias"] = s.mlp_bias;
  return json;
}

}  // namespace

const Family llama{"llama", "LlamaForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
