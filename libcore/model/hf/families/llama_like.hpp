#pragma once
// Members of config.json and names of tensors that Llama and its descendants share.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/hf/family.hpp"
#include "model/hf/rotary_members.hpp"

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

inline constexpr std::array qk_norm_rules{NameRule{"attention.q_norm", "self_attn.q_norm"},
                                          NameRule{"attention.k_norm", "self_attn.k_norm"}};
inline constexpr std::array fused_qkv_rules{NameRule{"attention.q", "self_attn.qkv_proj"},
                                            NameRule{"attention.k", "self_attn.qkv_proj"},
                                            NameRule{"attention.v", "self_attn.qkv_proj"}};
inline constexpr std::array fused_gate_up_rules{NameRule{"mlp.gate", "mlp.gate_up_proj"},
                                                NameRule{"mlp.up", "mlp.gate_up_proj"}};
/// Returns the rules of both lists. Of two rules for one stem the later one holds.
template <std::size_t N, std::size_t M, class... Lists>
constexpr auto with(const std::array<NameRule, N>& rules, const std::array<NameRule, M>& more,
                    const Lists&... lists) {
  std::array<NameRule, N + M> all{};
  std::copy(rules.begin(), rules.end(), std::copy(more.begin(), more.end(), all.begin()));
  if constexpr (sizeof...(lists) == 0)
    return all;
  else
    return with(all, lists...);
}

/// The values of members that a family's file may leave out.
struct LlamaDefaults {
  double norm_eps = 1e-6;
  bool tied = false;
  std::optional<std::int64_t> head_dim{};  // absent: hidden_size / num_attention_heads
  RotaryDefaults rotary{};
};
/// Reads the shared members. Each family reads its own activation, biases, norms and windows.
ModelSpec read_llama_like(const Config& config, const LlamaDefaults& defaults = {});
/// Checks that the activation is SiLU.
void require_silu(const Config& config);
/// Reads the shared members of a family whose activation is SiLU and whose attention has no biases.
ModelSpec read_without_biases(const Config& config, const LlamaDefaults& defaults = {});
/// Returns the window. null means none; a missing member means `otherwise`.
std::optional<std::int64_t> read_window_size(const Config& config,
                                             std::optional<std::int64_t> otherwise = 4096);
/// Returns the layers' windows of Qwen2 and Qwen3. A file may limit windows to some layers: those
/// that layer_types names, which transformers 5 writes beside use_sliding_window, or else those from
/// max_window_layers on.
PerLayer<std::optional<std::int64_t>> read_windows_from_layer(const Config& config, std::int64_t layers);
/// Returns for each layer whether it attends through a window: as layer_types says, or else `slides`.
std::vector<bool> read_layer_types(const Config& config, std::int64_t layers,
                                   const std::function<bool(std::int64_t layer)>& slides);
/// Returns `window` for the layers that have one.
PerLayer<std::optional<std::int64_t>> windows_of(const std::vector<bool>& slides,
                                                 std::optional<std::int64_t> window);
/// Returns the rotary positions of layers without and with a window; the defaults where a model has
/// no such layer.
LayerRotary layer_rotary(const ModelSpec& spec, const RotaryDefaults& full, const RotaryDefaults& sliding);
/// Sets the window and the rotary positions of each layer.
void set_layers(ModelSpec& spec, const std::vector<bool>& slides, std::optional<std::int64_t> window,
                const LayerRotary& rotary);
/// Sets whether each layer rotates queries and keys.
void set_rotary_layers(ModelSpec& spec, const std::vector<bool>& is_rotary);
/// Sets the window of each layer.
void set_windows(ModelSpec& spec, const PerLayer<std::optional<std::int64_t>>& windows);

/// Writes the shared members.
Json write_llama_like(const ModelSpec& spec);
/// Writes the window and which layers have it.
void write_windows_by_layer(const ModelSpec& spec, Json& json);
/// Writes what read_windows_from_layer() reads.
void write_windows_from_layer(const ModelSpec& spec, Json& json);
/// Returns the window of the first layer that has one.
std::optional<std::int64_t> first_window(const ModelSpec& spec);
Json number_or_null(const std::optional<std::int64_t>& number);

}  // namespace dt::model::hf
