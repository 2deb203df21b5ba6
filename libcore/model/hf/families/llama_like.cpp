#include "model/hf/families/llama_like.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dt::model::hf {

namespace {

/// Writes which layers have a window.
void write_layer_types(const ModelSpec& spec, Json& json) {
  json["layer_types"] = Json::array();
  for (std::int64_t layer = 0; layer < spec.layers; ++layer)
    json["layer_types"].push_back(spec.attention[layer].window ? "sliding_attention" : "full_attention");
}

}  // namespace

ModelSpec read_llama_like(const Config& config, const LlamaDefaults& defaults) {
  ModelSpec s;
  s.vocabulary = config.size("vocab_size");
  s.layers = config.size("num_hidden_layers");
  s.hidden = config.size("hidden_size");
  s.query_heads = config.size("num_attention_heads");
  s.key_value_heads = config.size_or("num_key_value_heads", s.query_heads);
  config.require_divides("num_key_value_heads", s.key_value_heads, "num_attention_heads", s.query_heads);
  if (!config.has("head_dim") && !defaults.head_dim)
    config.require_divides("num_attention_heads", s.query_heads, "hidden_size", s.hidden);
  s.head_dim = config.size_or("head_dim", defaults.head_dim.value_or(s.hidden / s.query_heads));
  if (s.head_dim % 2 != 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: the head size (head_dim) is {}", config.origin(), s.head_dim),
                "it must be even for rotary position embeddings");
  s.mlp_hidden = config.size("intermediate_size");
  s.max_positions = config.size("max_position_embeddings");
  s.norm = Norm::rms_norm;
  s.norm_eps = config.positive_or("rms_norm_eps", defaults.norm_eps);
  s.position = Position::rotary;
  s.attention = AttentionSpec{.rotary = read_rotary(config, s, defaults.rotary)};
  s.feed_forward = &swiglu_mlp();
  s.qkv_bias = s.attention_output_bias = s.mlp_bias = false;
  s.tied = config.flag_or("tie_word_embeddings", defaults.tied);
  s.init_std = config.positive_or("initializer_range", 0.02);
  s.scaled_residual_init = false;
  refuse_absurd_size(s, config.origin());  // before a list has an entry for each layer
  return s;
}

void require_silu(const Config& config) {
  config.require("hidden_act", {"silu", "swish"});  // two names of one function
}

ModelSpec read_without_biases(const Config& config, const LlamaDefaults& defaults) {
  ModelSpec s = read_llama_like(config, defaults);
  require_silu(config);
  config.require("attention_bias", {false});
  return s;
}

std::optional<std::int64_t> read_window_size(const Config& config, std::optional<std::int64_t> otherwise) {
  if (config.is_null("sliding_window")) return std::nullopt;
  return config.has("sliding_window") ? config.size("sliding_window") : otherwise;
}

PerLayer<std::optional<std::int64_t>> read_windows_from_layer(const Config& config, std::int64_t layers) {
  std::optional<std::int64_t> window;
  if (config.flag_or("use_sliding_window", false)) window = read_window_size(config);
  if (window && config.has("layer_types")) {
    if (config.has_each("layer_types", "full_attention")) return {};
    if (config.has_each("layer_types", "sliding_attention")) return window;
    return windows_of(read_layer_types(config, layers, {}), window);
  }
  const std::int64_t without = window ? config.count_or("max_window_layers", 28) : layers;
  if (without >= layers) window.reset();
  if (!window || without == 0) {
    config.require_each("layer_types", {window ? "sliding_attention" : "full_attention"});
    return window;
  }
  std::vector<std::optional<std::int64_t>> windows(static_cast<std::size_t>(layers), window);
  std::fill_n(windows.begin(), without, std::nullopt);
  return PerLayer(std::move(windows));
}

std::vector<bool> read_layer_types(const Config& config, std::int64_t layers,
                                   const std::function<bool(std::int64_t)>& slides) {
  if (config.has("layer_types"))
    return config.choices("layer_types", layers, "sliding_attention", "full_attention");
  std::vector<bool> types;
  for (std::int64_t layer = 0; layer < layers; ++layer) types.push_back(slides(layer));
  return types;
}

PerLayer<std::optional<std::int64_t>> windows_of(const std::vector<bool>& slides,
                                                 std::optional<std::int64_t> window) {
  std::vector<std::optional<std::int64_t>> windows;
  for (const bool layer_slides : slides) windows.push_back(layer_slides ? window : std::nullopt);
  return PerLayer(std::move(windows));
}

LayerRotary layer_rotary(const ModelSpec& spec, const RotaryDefaults& full, const RotaryDefaults& sliding) {
  LayerRotary rotary{{.theta = full.theta}, {.theta = sliding.theta}};
  for (std::int64_t layer = spec.layers - 1; layer >= 0; --layer)
    (spec.attention[layer].window ? rotary.sliding : rotary.full) = spec.attention[layer].rotary;
  return rotary;
}

void set_layers(ModelSpec& spec, const std::vector<bool>& slides, std::optional<std::int64_t> window,
                const LayerRotary& rotary) {
  std::vector<AttentionSpec> attention;
  for (const bool layer_slides : slides) {
    AttentionSpec layer{.rotary = layer_slides ? rotary.sliding : rotary.full};
    if (layer_slides) layer.window = window;
    attention.push_back(layer);
  }
  spec.attention = PerLayer(std::move(attention));
}

void set_rotary_layers(ModelSpec& spec, const std::vector<bool>& is_rotary) {
  std::vector<AttentionSpec> attention;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    attention.push_back(spec.attention[layer]);
    attention.back().is_rotary = is_rotary[static_cast<std::size_t>(layer)];
  }
  spec.attention = PerLayer(std::move(attention));
}

void set_windows(ModelSpec& spec, const PerLayer<std::optional<std::int64_t>>& windows) {
  std::vector<AttentionSpec> attention;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    attention.push_back(spec.attention[layer]);
    attention.back().window = windows[layer];
  }
  spec.attention = PerLayer(std::move(attention));
}

Json write_llama_like(const ModelSpec& s) {
  Json json = {{"vocab_size", s.vocabulary},
               {"max_position_embeddings", s.max_positions},
               {"hidden_size", s.hidden},
               {"intermediate_size", s.mlp_hidden},
               {"num_hidden_layers", s.layers},
               {"num_attention_heads", s.query_heads},
               {"num_key_value_heads", s.key_value_heads},
               {"head_dim", s.head_dim},
               {"hidden_act", "silu"},
               {"rms_norm_eps", s.norm_eps},
               {"initializer_range", s.init_std},
               {"attention_dropout", 0.0}};
  write_rotary(s.attention[0].rotary, s, json);
  return json;
}

void write_windows_from_layer(const ModelSpec& s, Json& json) {
  std::int64_t first = 0;  // layer with a window
  while (first < s.layers && !s.attention[first].window) ++first;
  const bool has_window = first < s.layers;
  json["use_sliding_window"] = has_window;
  json["sliding_window"] = has_window ? Json(*s.attention[first].window) : Json(nullptr);
  json["max_window_layers"] = first;
  if (!s.attention.is_uniform()) write_layer_types(s, json);
}

std::optional<std::int64_t> first_window(const ModelSpec& spec) {
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    if (spec.attention[layer].window) return spec.attention[layer].window;
  }
  return std::nullopt;
}

void write_windows_by_layer(const ModelSpec& spec, Json& json) {
  json["sliding_window"] = number_or_null(first_window(spec));
  write_layer_types(spec, json);
}

Json number_or_null(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

}  // namespace dt::model::hf
