// SmolLM3.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config, {.tied = true, .rotary = {.theta = 2000000}});
  require_silu(config);
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.mlp_bias = config.flag_or("mlp_bias", false);
  const std::int64_t interval = config.size_or("no_rope_layer_interval", 4);
  std::vector<bool> is_rotary;
  if (config.has("no_rope_layers")) {
    is_rotary = config.choices("no_rope_layers", s.layers, 1, 0);
  } else {
    for (std::int64_t layer = 0; layer < s.layers; ++layer) is_rotary.push_back((layer + 1) % interval != 0);
  }
  std::optional<std::int64_t> window;
  if (config.flag_or("use_sliding_window", false)) window = read_window_size(config, std::nullopt);
  const auto slides = [&](std::int64_t layer) {
    return window.has_value() && !is_rotary[static_cast<std::size_t>(layer)];
  };
  set_windows(s, windows_of(read_layer_types(config, s.layers, slides), window));
  set_rotary_layers(s, is_rotary);
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["attention_bias"] = s.qkv_bias;
  json["mlp_bias"] = s.mlp_bias;
  json["no_rope_layers"] = Json::array();
  for (std::int64_t layer = 0; layer < s.layers; ++layer)
    json["no_rope_layers"].push_back(s.attention[layer].is_rotary ? 1 : 0);
  json["use_sliding_window"] = first_window(s).has_value();
  write_windows_by_layer(s, json);
  return json;
}

}  // namespace

const Family smollm3{"smollm3", "SmolLM3ForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
