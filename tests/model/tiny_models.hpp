#pragma once
// Models of each family that are small enough for slopes and sums of every parameter.

#include <vector>

#include "model/model_spec.hpp"
#include "support/block_forms.hpp"

namespace dt::test {

inline model::ModelSpec tiny_gpt2(bool tied) {
  model::ModelSpec s = model::load_model_spec("gpt2-124m");
  s.vocabulary = 37;
  s.layers = 2;
  s.hidden = 12;
  s.query_heads = s.key_value_heads = 3;
  s.head_dim = 4;
  s.mlp_hidden = 20;
  s.max_positions = 9;
  s.tied = tied;
  return s;
}

inline model::ModelSpec tiny_llama(bool biases, bool tied) {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.vocabulary = 37;
  s.hidden = 12;
  s.query_heads = 4;
  s.key_value_heads = 2;
  s.head_dim = 6;
  s.mlp_hidden = 22;
  s.max_positions = 16;
  s.qkv_bias = s.attention_output_bias = s.mlp_bias = biases;
  s.tied = tied;
  return s;
}

inline model::ModelSpec tiny_windowed_qwen2() {
  model::ModelSpec s = tiny_llama(false, false);
  s.family = "qwen2";
  s.qkv_bias = true;
  const kernels::RotaryScaling scaling{kernels::RotaryScaling::Type::llama3, 4, 1, 4, 32};
  s.attention = model::AttentionSpec{.window = 3, .rotary = {10000, scaling}};
  return s;
}

/// Returns a model whose layers attend each in their own way: all keys, and a window with other
/// frequencies of rotary positions.
inline model::ModelSpec tiny_mixed_attention() {
  model::ModelSpec s = tiny_llama(false, true);
  s.attention = model::PerLayer(
      std::vector<model::AttentionSpec>{{.rotary = {10000, {}}}, {.window = 3, .rotary = {500, {}}}});
  return s;
}

/// Returns a model with a scaled token embedding beside that of positions, and norms without biases.
inline model::ModelSpec tiny_scaled_gpt2() {
  model::ModelSpec s = tiny_gpt2(true);
  s.embedding_scale = 1.7;
  s.norm_bias = false;
  return s;
}

/// Returns a model whose scores are scaled and capped.
inline model::ModelSpec tiny_capped_scores() {
  model::ModelSpec s = tiny_llama(false, true);
  s.score_scale = 0.3;
  s.score_softcap = 0.8;
  return s;
}

/// Returns a model with a layer of other pairs, YaRN's frequencies and factors of queries, and a layer
/// without rotary positions. Cosines and sines have a factor, and of 6 features 4 rotate, by frequencies
/// of 3.
inline model::ModelSpec tiny_interleaved() {
  model::ModelSpec s = tiny_llama(false, false);
  model::AttentionSpec turned;
  turned.rotary = {.theta = 100, .partial_factor = 0.5, .is_interleaved = true, .query_scale = 0.2};
  turned.rotary.scaling = {.type = kernels::RotaryScaling::Type::yarn,
                           .factor = 4,
                           .original_positions = 4,
                           .attention_factor = 1.2};
  s.attention = model::PerLayer(std::vector<model::AttentionSpec>{turned, {.is_rotary = false}});
  return s;
}

/// Returns a model whose frequencies are longrope's, with the long factors from 5 tokens on.
inline model::ModelSpec tiny_longrope() {
  model::ModelSpec s = tiny_llama(false, false);
  model::AttentionSpec attention;
  attention.rotary = {.theta = 100, .partial_factor = 0.7};
  attention.rotary.scaling = {.type = kernels::RotaryScaling::Type::longrope,
                              .original_positions = 4,
                              .short_factors = {1, 1.5},
                              .long_factors = {1.2, 3},
                              .attention_factor = 1.1};
  s.attention = attention;
  return s;
}

/// Returns a model that normalizes queries and keys.
inline model::ModelSpec tiny_qk_norm(model::QkNorm norm) {
  model::ModelSpec s = tiny_llama(norm == model::QkNorm::per_head, false);
  s.qk_norm = norm;
  s.norm_weight_plus_one = norm == model::QkNorm::full_width;
  return s;
}

/// Returns a model whose logits have a factor and a cap that bends them.
inline model::ModelSpec tiny_capped_logits() {
  model::ModelSpec s = tiny_llama(false, true);
  s.logit_scale = 0.6;
  s.logit_softcap = 1.5;
  return s;
}

inline std::vector<model::ModelSpec> every_kind() {
  std::vector<model::ModelSpec> kinds{tiny_gpt2(true),
                                      tiny_gpt2(false),
                                      tiny_llama(true, false),
                                      tiny_llama(false, true),
                                      tiny_windowed_qwen2(),
                                      tiny_mixed_attention(),
                                      tiny_scaled_gpt2(),
                                      tiny_capped_scores(),
                                      tiny_capped_logits(),
                                      tiny_interleaved(),
                                      tiny_longrope(),
                                      tiny_qk_norm(model::QkNorm::per_head),
                                      tiny_qk_norm(model::QkNorm::full_width)};
  for (BlockForm& form : block_forms(tiny_llama(true, true))) {
    form.spec.family = form.name;
    kinds.push_back(std::move(form.spec));
  }
  return kinds;
}

}  // namespace dt::test
