// Cohere 2 (Command R7B, Command A).

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config, {.tied = true});
  require_silu(config);
  s.norm = Norm::layer_norm;
  s.norm_bias = false;
  s.norm_eps = config.positive_or("layer_norm_eps", 1e-5);
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.parallel_branches = s.shared_norm = true;
  s.logit_scale = config.positive_or("logit_scale", 0.0625);
  const std::int64_t pattern = config.size_or("sliding_window_pattern", 4);
  const auto slides = [&](std::int64_t layer) { return (layer + 1) % pattern != 0; };
  const std::vector<bool> types = read_layer_types(config, s.layers, slides);
  kernels::RotaryFrequencies rotary = s.attention[0].rotary;
  rotary.is_interleaved = true;
  set_layers(s, types, read_window_size(config), {rotary, rotary});
  set_rotary_layers(s, types);
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json.erase("rms_norm_eps");
  json["layer_norm_eps"] = s.norm_eps;
  json["attention_bias"] = s.qkv_bias;
  json["logit_scale"] = s.logit_scale;
  write_windows_by_layer(s, json);
  return json;
}

}  // namespace

const Family cohere2{"cohere2", "Cohere2ForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
