// OLMo 3.

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/hf/families/olmo.hpp"

namespace dt::model::hf {

namespace {

constexpr auto rules = with(llama_rules, olmo_norm_rules, qk_norm_rules);
constexpr RotaryDefaults defaults{.theta = 500000};

ModelSpec read(const Config& config) {
  const Config flat = config.has("rope_parameters") ? config.without("rope_parameters") : config;
  ModelSpec s = read_olmo(flat, defaults);
  const auto nested = read_nested_rotary(config, s, defaults, defaults);
  const auto slides = [](std::int64_t layer) { return (layer + 1) % 4 != 0; };
  const std::vector<bool> types = read_layer_types(config, s.layers, slides);
  const std::optional<std::int64_t> window = read_window_size(config);
  LayerRotary rotary{s.attention[0].rotary, {.theta = defaults.theta}};
  if (nested) rotary = *nested;
  const bool has_sliding = std::ranges::find(types, true) != types.end();
  // transformers 4 would give such layers the θ of all, transformers 5 the default.
  if (!nested && has_sliding && rotary.full.theta != defaults.theta)
    config.refuse("rope_theta", fmt::format("{} beside layers that slide", defaults.theta));
  if (rotary.full.scaling && !rotary.full.scaling->truncate)  // transformers 5 ignores it there
    config.refuse(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling",
                  "truncate true or absent");
  set_layers(s, types, window, rotary);
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_olmo(s);
  const LayerRotary rotary = layer_rotary(s, defaults, defaults);
  write_rotary(rotary.full, s, json);
  Json kinds = {{"full_attention", json["rope_parameters"]},
                {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", rotary.sliding.theta}}}};
  json["rope_parameters"] = kinds;
  json.erase("rope_scaling");  // transformers 5 would take it beside rope_parameters
  write_windows_by_layer(s, json);
  return json;
}

}  // namespace

const Family olmo3{"olmo3", "Olmo3ForCausalLM", read, write, {rules}};

}  // namespace dt::model::hf
