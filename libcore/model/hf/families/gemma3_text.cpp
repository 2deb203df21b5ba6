// Gemma 3, its text model.

#include <nlohmann/json.hpp>

#include "model/hf/families/gemma.hpp"

namespace dt::model::hf {

namespace {

constexpr auto rules = with(llama_rules, gemma_norm_rules, qk_norm_rules);
constexpr RotaryDefaults full{.theta = 1000000}, sliding{.theta = 10000};

ModelSpec read(const Config& config) {
  const Config flat = config.has("rope_parameters") ? config.without("rope_parameters") : config;
  ModelSpec s = read_gemma(flat, full);
  config.require_absent("attn_logit_softcapping");  // transformers ignores it
  s.logit_softcap = read_cap(config, "final_logit_softcapping", std::nullopt);
  s.qk_norm = QkNorm::per_head;
  LayerRotary rotary{s.attention[0].rotary,
                     {.theta = config.positive_or("rope_local_base_freq", sliding.theta)}};
  if (const auto nested = read_nested_rotary(config, s, full, sliding)) rotary = *nested;
  const std::int64_t pattern = config.size_or("sliding_window_pattern", 6);
  const auto slides = [&](std::int64_t layer) { return (layer + 1) % pattern != 0; };
  set_layers(s, read_layer_types(config, s.layers, slides), read_window_size(config), rotary);
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_gemma(s);
  const LayerRotary rotary = layer_rotary(s, full, sliding);
  json.erase("rope_parameters");
  write_rotary(rotary.full, s, json);
  json.erase("rope_parameters");  // transformers 5 reads what those before it do
  json["rope_local_base_freq"] = rotary.sliding.theta;
  json["final_logit_softcapping"] = cap_or_null(s.logit_softcap);
  json["sliding_window_pattern"] = 6;
  return json;
}

}  // namespace

const Family gemma3_text{
    "gemma3_text", "Gemma3ForCausalLM", read, write, {.rules = rules, .may_be_wrapped = true}};

}  // namespace dt::model::hf
