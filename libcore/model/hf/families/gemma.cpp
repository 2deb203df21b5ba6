#include "model/hf/families/gemma.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/layers/mlp_layer.hpp"

namespace dt::model::hf {

ModelSpec read_gemma(const Config& config, const RotaryDefaults& rotary) {
  ModelSpec s = read_llama_like(config, {.tied = true, .head_dim = 256, .rotary = rotary});
  config.require("hidden_activation", {"gelu_pytorch_tanh"});
  config.require("use_bidirectional_attention", {false});
  s.feed_forward = &geglu_mlp();
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.norm_weight_plus_one = true;
  s.norm_placement = NormPlacement::around;
  s.embedding_scale = std::sqrt(static_cast<double>(s.hidden));
  s.rounds_embedding_scale = true;
  s.score_scale = 1 / std::sqrt(static_cast<double>(config.size_or("query_pre_attn_scalar", 256)));
  return s;
}

Json write_gemma(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["hidden_act"] = "gelu_pytorch_tanh";
  json["hidden_activation"] = "gelu_pytorch_tanh";
  json["attention_bias"] = s.qkv_bias;
  json["query_pre_attn_scalar"] = std::llround(1 / (s.score_scale.value() * s.score_scale.value()));
  write_windows_by_layer(s, json);
  return json;
}

std::optional<double> read_cap(const Config& config, const std::string& key,
                               std::optional<double> otherwise) {
  if (config.is_null(key)) return std::nullopt;
  return config.has(key) ? config.positive(key) : otherwise;
}

Json cap_or_null(const std::optional<double>& cap) {
  return cap ? Json(*cap) : Json(nullptr);
}

}  // namespace dt::model::hf
