#pragma once
// Members and names that Gemma 2 and Gemma 3 share.

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

inline constexpr std::array gemma_norm_rules{NameRule{"attention_output_norm", "post_attention_layernorm"},
                                             NameRule{"mlp_norm", "pre_feedforward_layernorm"},
                                             NameRule{"mlp_output_norm", "post_feedforward_layernorm"}};

/// Reads the shared members. `rotary` are the defaults of layers that see all tokens.
ModelSpec read_gemma(const Config& config, const RotaryDefaults& rotary = {});
Json write_gemma(const ModelSpec& spec);
/// Returns a soft cap. null means none; a missing member means `otherwise`.
std::optional<double> read_cap(const Config& config, const std::string& key, std::optional<double> otherwise);
Json cap_or_null(const std::optional<double>& cap);

}  // namespace dt::model::hf
