#pragma once
// Members and names that OLMo 2 and OLMo 3 share.

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

inline constexpr std::array olmo_norm_rules{NameRule{"attention_output_norm", "post_attention_layernorm"},
                                            NameRule{"mlp_output_norm", "post_feedforward_layernorm"}};

ModelSpec read_olmo(const Config& config, const RotaryDefaults& rotary);
Json write_olmo(const ModelSpec& spec);

}  // namespace dt::model::hf
