#include "model/hf/families/olmo.hpp"

#include <nlohmann/json.hpp>

namespace dt::model::hf {

ModelSpec read_olmo(const Config& config, const RotaryDefaults& rotary) {
  ModelSpec s = read_llama_like(config, {.norm_eps = 1e-5, .rotary = rotary});
  require_silu(config);
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.norm_placement = NormPlacement::after;
  s.qk_norm = QkNorm::full_width;
  return s;
}

Json write_olmo(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["attention_bias"] = s.qkv_bias;
  return json;
}

}  // namespace dt::model::hf
