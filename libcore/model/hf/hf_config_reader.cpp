// Reads Hugging Face's config.json. Only this file, the writer and hf_names.cpp know families by
// name.

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "model/hf/hf_config.hpp"

namespace dt::model {

namespace {

using Json = nlohmann::ordered_json;
using kernels::RotaryScaling;

/// A configuration's members, with errors that name the file, the key, the value and what is allowed.
class Config {
 public:
  Config(Json json, std::string origin) : json_(std::move(json)), origin_(std::move(origin)) {}

  /// Returns whether the member is present. A null member counts as absent, as in transformers.
  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }
  bool is_null(const std::string& key) const { return json_.contains(key) && json_[key].is_null(); }
  const Json& value(const std::string& key) const { return json_[key]; }
  /// Returns a member that is an object. Errors within it name "key.member".
  Config nested(const std::string& key) const {
    if (!json_[key].is_object()) refuse(key, "an object");
    return Config(json_[key], origin_, path(key) + ".");
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& allowed) const {
    throw Error(ErrorKind::input, fmt::format("{}: {} is {}", origin_, path(key), json_[key].dump()),
                "allowed: " + allowed);
  }
  [[noreturn]] void missing(const std::string& key) const {
    throw Error(ErrorKind::input, fmt::format("{}: {} is missing", origin_, path(key)),
                "dt needs it to determine the model's size");
  }

  std::int64_t size(const std::string& key) const {
    if (!has(key)) missing(key);
    return integer(key, 1);
  }
  std::int64_t size_or(const std::string& key, std::int64_t otherwise) const {
    return has(key) ? integer(key, 1) : otherwise;
  }
  std::int64_t count_or(const std::string& key, std::int64_t otherwise) const {
    return has(key) ? integer(key, 0) : otherwise;
  }
  double positive_or(const std::string& key, double otherwise) const {
    if (!has(key)) return otherwise;
    constexpr double least = 1e-30, most = 1e30;  // numbers of fp32, as are their reciprocals
    const double number = json_[key].is_number() ? json_[key].get<double>() : 0;
    if (!(number >= least && number <= most)) refuse(key, fmt::format("a number from {} to {}", least, most));
    return number;
  }
  bool flag_or(const std::string& key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) refuse(key, "true, false");
    return json_[key].get<bool>();
  }
  /// Returns token ids. The member may have none, one, or a list, such as Llama 3's end-of-text
  /// ids.
  std::vector<std::int64_t> tokens(const std::string& key) const {
    if (!has(key)) return {};
    const Json list = json_[key].is_array() ? json_[key] : Json::array({json_[key]});
    // Some files use −1 for none.
    const auto is_id = [](const Json& id) {
      return id.is_number_integer() && id.get<double>() >= -1 &&
             id.get<double>() <= std::numeric_limits<std::uint32_t>::max();
    };
    if (!std::all_of(list.begin(), list.end(), is_id)) refuse(key, "a token id, a list of token ids, null");
    return list.get<std::vector<std::int64_t>>();
  }
  /// Returns the first of the ids.
  std::optional<std::int64_t> token(const std::string& key) const {
    const std::vector<std::int64_t> ids = tokens(key);
    return ids.empty() ? std::nullopt : std::optional(ids.front());
  }

  /// Checks a setting that dt computes in one way only. It may be absent or equal one of the
  /// values.
  void require(const std::string& key, std::initializer_list<Json> values) const {
    if (!has(key)) return;
    std::string allowed;
    for (const Json& v : values) {
      if (json_[key] == v) return;
      allowed += (allowed.empty() ? "" : ", ") + v.dump();
    }
    refuse(key, allowed);
  }
  /// Returns whether a list with one setting for each layer has the same value for all.
  bool has_each(const std::string& key, const char* value) const {
    const auto same = [value](const Json& v) { return v == value; };
    return json_[key].is_array() && std::all_of(json_[key].begin(), json_[key].end(), same);
  }
  /// Reads a list with one of two settings for each layer. Returns whether each has the first.
  std::vector<bool> choices(const std::string& key, std::int64_t layers, const char* first,
                            const char* second) const {
    std::vector<bool> is_first;
    for (const Json& v : json_[key]) {
      if (v == first || v == second) is_first.push_back(v == first);
    }
    if (json_[key].is_array() && is_first.size() == json_[key].size() &&
        static_cast<std::int64_t>(is_first.size()) == layers)
      return is_first;
    refuse(key, fmt::format("\"{}\" or \"{}\" for each of {} layers", first, second, layers));
  }
  /// Checks a list with one setting for each layer. It may be absent or have one of the values for
  /// every layer.
  void require_each(const std::string& key, std::initializer_list<const char*> values) const {
    if (!has(key)) return;
    std::string allowed;
    for (const char* value : values) {
      if (has_each(key, value)) return;
      allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : " or ", value);
    }
    refuse(key, allowed + " for every layer");
  }
  void require_absent(const std::string& key) const {
    if (has(key)) refuse(key, "null");
  }
  void require_divides(const std::string& divisor, std::int64_t d, const std::string& whole,
                       std::int64_t w) const {
    if (w % d == 0) return;
    throw Error(ErrorKind::input,
                fmt::format("{}: {} is {} and {} is {}", origin_, path(whole), w, path(divisor), d),
                fmt::format("{} must divide {}", divisor, whole));
  }

  const std::string& origin() const { return origin_; }

 private:
  Config(Json json, std::string origin, std::string prefix)
      : json_(std::move(json)), origin_(std::move(origin)), prefix_(std::move(prefix)) {}
  std::string path(const std::string& key) const { return prefix_ + key; }
  /// Returns a size. Sizes fit an int32, so that products of two never overflow.
  std::int64_t integer(const std::string& key, std::int64_t smallest) const {
    constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
    if (!json_[key].is_number_integer() || json_[key].get<double>() < static_cast<double>(smallest) ||
        json_[key].get<double>() > static_cast<double>(largest))
      refuse(key, fmt::format("an integer from {} to {}", smallest, largest));
    return json_[key].get<std::int64_t>();
  }

  Json json_;
  std::string origin_;
  std::string prefix_;
};

/// Refuses settings that dt supports for no family.
void refuse_unsupported(const Config& config) {
  config.require("add_cross_attention", {false});
  config.require_absent("quantization_config");
}

SpecialTokens read_special(const Config& config) {
  return {config.token("bos_token_id"), config.tokens("eos_token_id"), config.token("pad_token_id")};
}

/// Refuses sizes beyond any real model. Such a file has a mistake, and sums of its sizes would
/// overflow int64.
void refuse_absurd_size(const ModelSpec& s, const std::string& origin) {
  constexpr double most_parameters = 1e15;
  constexpr std::int64_t most_layers = 16384;
  const auto d = [](std::int64_t n) { return static_cast<double>(n); };
  const double features =
      d(s.head_dim) * (2 * d(s.query_heads) + 2 * d(s.key_value_heads)) + 3 * d(s.mlp_hidden);
  const double parameters = d(s.hidden) * (d(s.layers) * features + 2 * d(s.vocabulary) + d(s.max_positions));
  if (parameters > most_parameters || s.layers > most_layers) {
    throw Error(
        ErrorKind::input,
        fmt::format("{}: the model is too large: {} layers and about {:.1e} parameters", origin, s.layers,
                    parameters),
        fmt::format("allowed: at most {} layers and {:.0e} parameters", most_layers, most_parameters));
  }
}

/// Reads a gpt2 model. Dropout probabilities are not read: dt trains without dropout, and
/// transformers writes 0.1 by default.
ModelSpec read_gpt2(const Config& config) {
  refuse_unsupported(config);
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});  // two names of one formula
  config.require("scale_attn_weights", {true});
  config.require("scale_attn_by_inverse_layer_idx", {false});
  config.require("reorder_and_upcast_attn", {false});

  ModelSpec s;
  s.family = "gpt2";
  s.vocabulary = config.size("vocab_size");
  s.layers = config.size("n_layer");
  s.hidden = config.size("n_embd");
  s.query_heads = s.key_value_heads = config.size("n_head");
  config.require_divides("n_head", s.query_heads, "n_embd", s.hidden);
  s.head_dim = s.hidden / s.query_heads;
  s.mlp_hidden = config.size_or("n_inner", 4 * s.hidden);
  s.max_positions = config.size(config.has("n_positions") || !config.has("n_ctx") ? "n_positions" : "n_ctx");
  s.norm_eps = config.positive_or("layer_norm_epsilon", 1e-5);
  s.tied = config.flag_or("tie_word_embeddings", true);
  s.init_std = config.positive_or("initializer_range", 0.02);
  s.special = read_special(config);
  return s;
}

double number(const Config& config, const std::string& key) {
  if (!config.has(key)) config.missing(key);
  return config.positive_or(key, 0);
}

/// Returns nothing if the frequencies are not scaled.
std::optional<RotaryScaling> read_rotary_scaling(const Config& rope) {
  const std::string key = rope.has("rope_type") ? "rope_type" : "type";  // "type" is the older name
  rope.require(key, {"default", "linear", "llama3"});
  if (key == "rope_type" && rope.has("type")) rope.require("type", {rope.value(key)});
  rope.require("partial_rotary_factor", {1.0});
  if (!rope.has(key) || rope.value(key) == "default") return std::nullopt;

  RotaryScaling scaling;
  scaling.factor = number(rope, "factor");
  if (rope.value(key) == "linear") {
    scaling.type = RotaryScaling::Type::linear;
    return scaling;
  }
  scaling.low_frequency_factor = number(rope, "low_freq_factor");
  scaling.high_frequency_factor = number(rope, "high_freq_factor");
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
    rope.refuse("high_freq_factor", fmt::format("above low_freq_factor, {}", scaling.low_frequency_factor));
  scaling.original_positions = rope.size("original_max_position_embeddings");
  return scaling;
}

/// Reads θ and its scaling. θ is at the top level, or in rope_parameters in files of transformers
/// 5. rope_scaling is the older member for a rope_type. Settings that the file repeats must agree.
kernels::RotaryFrequencies read_rotary(const Config& config) {
  kernels::RotaryFrequencies rotary;
  config.require("partial_rotary_factor", {1.0});
  rotary.theta = config.positive_or("rope_theta", 10000);
  for (const std::string key : {"rope_scaling", "rope_parameters"}) {
    if (!config.has(key)) continue;
    const Config rope = config.nested(key);
    const std::optional<RotaryScaling> scaling = read_rotary_scaling(rope);
    if (key == "rope_parameters" && config.has("rope_scaling") && scaling != rotary.scaling)
      config.refuse(key, fmt::format("{}, as the file's rope_scaling", config.value("rope_scaling").dump()));
    rotary.scaling = scaling;
    const double theta = rope.positive_or("rope_theta", rotary.theta);
    if (rope.has("rope_theta") && config.has("rope_theta") && theta != rotary.theta)
      rope.refuse("rope_theta", fmt::format("{}, as the file's own rope_theta", rotary.theta));
    rotary.theta = theta;
  }
  return rotary;
}

/// Reads what Llama and its descendants share. Each family reads its own biases and windows.
ModelSpec read_llama_like(const Config& config, const std::string& family) {
  refuse_unsupported(config);
  config.require("hidden_act", {"silu", "swish"});  // two names of one function

  ModelSpec s;
  s.family = family;
  s.vocabulary = config.size("vocab_size");
  s.layers = config.size("num_hidden_layers");
  s.hidden = config.size("hidden_size");
  s.query_heads = config.size("num_attention_heads");
  s.key_value_heads = config.size_or("num_key_value_heads", s.query_heads);
  config.require_divides("num_key_value_heads", s.key_value_heads, "num_attention_heads", s.query_heads);
  if (!config.has("head_dim"))
    config.require_divides("num_attention_heads", s.query_heads, "hidden_size", s.hidden);
  s.head_dim = config.size_or("head_dim", s.hidden / s.query_heads);
  if (s.head_dim % 2 != 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: the head size (head_dim) is {}", config.origin(), s.head_dim),
                "it must be even for rotary position embeddings");
  s.mlp_hidden = config.size("intermediate_size");
  s.max_positions = config.size("max_position_embeddings");
  s.norm = Norm::rms_norm;
  s.norm_eps = config.positive_or("rms_norm_eps", 1e-6);
  s.position = Position::rotary;
  s.attention = AttentionSpec{.rotary = read_rotary(config)};
  s.feed_forward = &swiglu_mlp();
  s.qkv_bias = s.attention_output_bias = s.mlp_bias = false;
  s.tied = config.flag_or("tie_word_embeddings", false);
  s.init_std = config.positive_or("initializer_range", 0.02);
  s.scaled_residual_init = false;
  s.special = read_special(config);
  return s;
}

ModelSpec read_llama(const Config& config) {
  ModelSpec s = read_llama_like(config, "llama");
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.mlp_bias = config.flag_or("mlp_bias", false);
  return s;
}

/// Returns the window. null means none; a missing member means transformers' default.
std::optional<std::int64_t> read_window_size(const Config& config) {
  if (config.is_null("sliding_window")) return std::nullopt;
  return config.size_or("sliding_window", 4096);
}

ModelSpec read_mistral(const Config& config) {
  ModelSpec s = read_llama_like(config, "mistral");
  config.require("attention_bias", {false});
  config.require("mlp_bias", {false});
  const std::optional<std::int64_t> window = read_window_size(config);
  s.attention = AttentionSpec{window, s.attention[0].rotary};
  config.require_each("layer_types", {window ? "sliding_attention" : "full_attention"});
  return s;
}

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

ModelSpec read_qwen2(const Config& config) {
  ModelSpec s = read_llama_like(config, "qwen2");
  config.require("attention_bias", {true});
  config.require("mlp_bias", {false});
  s.qkv_bias = true;
  refuse_absurd_size(s, config.origin());  // before a list has an entry for each layer
  const PerLayer<std::optional<std::int64_t>> windows = read_qwen2_windows(config, s.layers);
  std::vector<AttentionSpec> attention;
  for (std::int64_t layer = 0; layer < s.layers; ++layer)
    attention.push_back({windows[layer], s.attention[0].rotary});
  s.attention = PerLayer(std::move(attention));
  return s;
}

struct Family {
  const char* name;
  ModelSpec (*read)(const Config&);
};
constexpr Family families[] = {
    {"gpt2", read_gpt2}, {"llama", read_llama}, {"mistral", read_mistral}, {"qwen2", read_qwen2}};

}  // namespace

std::vector<std::int64_t> parse_generation_ends(std::string_view json, const std::string& origin) {
  return Config(parse_json_object(json, {origin}), origin).tokens("eos_token_id");
}

ModelSpec parse_hf_config(std::string_view json, const std::string& origin) {
  const Config config(parse_json_object(json, {origin}), origin);
  std::string allowed;
  for (const Family& family : families) {
    if (config.has("model_type") && config.value("model_type") == family.name) {
      ModelSpec spec = family.read(config);
      refuse_absurd_size(spec, origin);
      return spec;
    }
    allowed += (allowed.empty() ? "" : ", ") + Json(family.name).dump();
  }
  if (config.has("model_type")) config.refuse("model_type", allowed);
  throw Error(ErrorKind::input, fmt::format("{}: model_type is missing", origin), "allowed: " + allowed);
}

}  // namespace dt::model
