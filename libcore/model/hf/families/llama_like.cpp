#include "model/hf/families/llama_like.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dt::model::hf {

using kernels::RotaryScaling;

namespace {

/// Returns nothing if the frequencies are not scaled.
std::optional<RotaryScaling> read_rotary_scaling(const Config& rope) {
  const std::string key = rope.has("rope_type") ? "rope_type" : "type";  // "type" is the older name
  rope.require(key, {"default", "linear", "llama3"});
  if (key == "rope_type" && rope.has("type")) rope.require("type", {rope.value(key)});
  rope.require("partial_rotary_factor", {1.0});
  if (!rope.has(key) || rope.value(key) == "default") return std::nullopt;

  RotaryScaling scaling;
  scaling.factor = rope.positive("factor");
  if (rope.value(key) == "linear") {
    scaling.type = RotaryScaling::Type::linear;
    return scaling;
  }
  scaling.low_frequency_factor = rope.positive("low_freq_factor");
  scaling.high_frequency_factor = rope.positive("high_freq_factor");
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
    rope.refuse("high_freq_factor", fmt::format("above low_freq_factor, {}", scaling.low_frequency_factor));
  scaling.original_positions = rope.size("original_max_position_embeddings");
  return scaling;
}

/// Returns the rope_type and its settings.
Json rotary_scaling(const std::optional<RotaryScaling>& scaling) {
  if (!scaling) return {{"rope_type", "default"}};
  if (scaling->type == RotaryScaling::Type::linear)
    return {{"rope_type", "linear"}, {"factor", scaling->factor}};
  return {{"rope_type", "llama3"},
          {"factor", scaling->factor},
          {"low_freq_factor", scaling->low_frequency_factor},
          {"high_freq_factor", scaling->high_frequency_factor},
          {"original_max_position_embeddings", scaling->original_positions}};
}

}  // namespace

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

ModelSpec read_llama_like(const Config& config) {
  config.require("hidden_act", {"silu", "swish"});  // two names of one function

  ModelSpec s;
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
  return s;
}

std::optional<std::int64_t> read_window_size(const Config& config) {
  if (config.is_null("sliding_window")) return std::nullopt;
  return config.size_or("sliding_window", 4096);
}

Json write_llama_like(const ModelSpec& s) {
  const kernels::RotaryFrequencies& rotary = s.attention[0].rotary;
  Json rope_parameters = rotary_scaling(rotary.scaling);
  rope_parameters["rope_theta"] = rotary.theta;
  return {{"vocab_size", s.vocabulary},
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
          {"rope_theta", rotary.theta},
          {"rope_parameters", rope_parameters},  // for transformers 5
          {"rope_scaling", rotary.scaling ? rotary_scaling(rotary.scaling) : Json(nullptr)},
          {"attention_dropout", 0.0}};
}

}  // namespace dt::model::hf
