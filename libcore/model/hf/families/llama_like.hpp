#pragma once
// What Llama and its descendants share: members of config.json, and names of tensors.

#include <array>
#include <cstdint>
#include <optional>

#include "model/hf/family.hpp"

namespace dt::model::hf {

inline constexpr std::array llama_rules{NameRule{"embedding.token", "embed_tokens"},
                                        NameRule{"attention_norm", "input_layernorm"},
                                        NameRule{"attention.q", "self_attn.q_proj"},
                                        NameRule{"attention.k", "self_attn.k_proj"},
                                        NameRule{"attention.v", "self_attn.v_proj"},
                                        NameRule{"attention.output", "self_attn.o_proj"},
                                        NameRule{"mlp_norm", "post_attention_layernorm"},
                                        NameRule{"mlp.gate", "mlp.gate_proj"},
                                        NameRule{"mlp.up", "mlp.up_proj"},
                                        NameRule{"mlp.down", "mlp.down_proj"},
                                        NameRule{"final_norm", "norm"},
                                        NameRule{"head", "lm_head"}};

/// Reads the shared members. Each family reads its own biases and windows.
ModelSpec read_llama_like(const Config& config);
/// Reads θ and its scaling. θ is at the top level, or in rope_parameters in files of transformers
/// 5. rope_scaling is the older member for a rope_type. Settings that the file repeats must agree.
kernels::RotaryFrequencies read_rotary(const Config& config);
/// Returns the window. null means none; a missing member means transformers' default.
std::optional<std::int64_t> read_window_size(const Config& config);
/// Writes the shared members.
Json write_llama_like(const ModelSpec& spec);

}  // namespace dt::model::hf
