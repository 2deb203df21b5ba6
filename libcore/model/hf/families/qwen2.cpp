// Qwen2 and Qwen2.5.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

/// Returns the layers' windows of Qwen2. A file may limit windows to some layers: those that
/// layer_types names, which transformers 5 writes beside use_sliding_window, or else those from
/// max_window_layers on.
PerLayer<std::optional<std::int64_t>> read_qwen2_windows(const Config& config, std::int64_t layers) {
  std::optional<std::int64_t> window;
  if (config.flag_or("use_sliding_window", false)) window = read_window_size(config);
  if (window && config.has("layer_types")) {
    if (config.has_each("layer_types", "full_attention")) return {};
    if (config.has_each("layer_types", "sliding_attention")) return window;
    std::vector<std::optional<std::int64_t>> windows;
    for (const bool slides : config.choices("layer_types", layers, "sliding_attention", "full_attention"))
      windows.push_back(slides ? window : std::nullopt);
    return PerLayer(std::move(windows));
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

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config);
  config.require("attention_bias", {true});
  config.require("mlp_bias", {false});
  s.qkv_bias = true;
  refuse_absurd_size(s, config.origin());  // before a list has an entry for each layer
  const PerLayer<std::optional<std::int64_t>> windows = read_qwen2_windows(config, s.layers);
  std::vector<AttentionSpec> attention;
  for (std::int64_t layer = 0; layer < s.layers; ++layer)
    attention.push_back({.window = windows[layer], .rotary = s.attention[0].rotary});
  s.attention = PerLayer(std::move(attention));
  return s;
}

/// Writes the layers that have a window. Files of windows in some layers also have layer_types, which
/// transformers 5 takes.
Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  std::int64_t first = 0;  // layer with a window
  while (first < s.layers && !s.attention[first].window) ++first;
  const bool has_window = first < s.layers;
  json["use_sliding_window"] = has_window;
  json["sliding_window"] = has_window ? Json(*s.attention[first].window) : Json(nullptr);
  json["max_window_layers"] = first;
  for (std::int64_t layer = 0; layer < s.layers && !s.attention.is_uniform(); ++layer)
    json["layer_types"].push_back(s.attention[layer].window ? "sliding_attention" : "full_attention");
  return json;
}

}  // namespace

const Family qwen2{"qwen2", "Qwen2ForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
