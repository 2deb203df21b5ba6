// GPT-NeoX and Pythia.

#include <array>
#include <nlohmann/json.hpp>

#include "model/hf/family.hpp"
#include "model/hf/rotary_members.hpp"
#include "model/layers/mlp_layer.hpp"

namespace dt::model::hf {

namespace {

constexpr std::array rules{NameRule{"embedding.token", "embed_in"},
                           NameRule{"attention_norm", "input_layernorm"},
                           NameRule{"attention.q", "attention.query_key_value"},
                           NameRule{"attention.k", "attention.query_key_value"},
                           NameRule{"attention.v", "attention.query_key_value"},
                           NameRule{"attention.output", "attention.dense"},
                           NameRule{"mlp_norm", "post_attention_layernorm"},
                           NameRule{"mlp.up", "mlp.dense_h_to_4h"},
                           NameRule{"mlp.down", "mlp.dense_4h_to_h"},
                           NameRule{"final_norm", "final_layer_norm"},
                           NameRule{"head", "embed_out"}};

/// Reads θ and the part of a head that rotates, which older files call rotary_emb_base and rotary_pct.
kernels::RotaryFrequencies read_positions(const Config& config, const ModelSpec& spec) {
  RotaryDefaults defaults{.partial_factor = 0.25, .may_be_partial = true};
  defaults.theta = config.positive_or("rotary_emb_base", defaults.theta);
  defaults.partial_factor = config.positive_or("rotary_pct", defaults.partial_factor);
  if (defaults.partial_factor > 1) config.refuse("rotary_pct", "a number up to 1");
  return read_rotary(config, spec, defaults);
}

/// Reads a gpt_neox model. Dropout probabilities are not read: dt trains without dropout.
ModelSpec read(const Config& config) {
  config.require("hidden_act", {"gelu", "gelu_new", "gelu_pytorch_tanh"});
  config.require("attention_bias", {true});
  ModelSpec s;
  s.vocabulary = config.size("vocab_size");
  s.layers = config.size("num_hidden_layers");
  s.hidden = config.size("hidden_size");
  s.query_heads = s.key_value_heads = config.size("num_attention_heads");
  config.require_divides("num_attention_heads", s.query_heads, "hidden_size", s.hidden);
  s.head_dim = s.hidden / s.query_heads;
  s.mlp_hidden = config.size("intermediate_size");
  s.max_positions = config.size("max_position_embeddings");
  s.norm_eps = config.positive_or("layer_norm_eps", 1e-5);
  s.position = Position::rotary;
  s.attention = AttentionSpec{.rotary = read_positions(config, s)};
  const bool is_exact = !config.has("hidden_act") || config.value("hidden_act") == "gelu";
  s.feed_forward = is_exact ? &gelu_erf_mlp() : &gelu_mlp();
  s.parallel_branches = config.flag_or("use_parallel_residual", true);
  s.tied = config.flag_or("tie_word_embeddings", false);
  s.init_std = config.positive_or("initializer_range", 0.02);
  s.scaled_residual_init = false;
  return s;
}

Json write(const ModelSpec& s) {
  const kernels::RotaryFrequencies& rotary = s.attention[0].rotary;
  Json json = {{"vocab_size", s.vocabulary},
               {"max_position_embeddings", s.max_positions},
               {"hidden_size", s.hidden},
               {"intermediate_size", s.mlp_hidden},
               {"num_hidden_layers", s.layers},
               {"num_attention_heads", s.query_heads},
               {"hidden_act", s.feed_forward[0] == &gelu_erf_mlp() ? "gelu" : "gelu_new"},
               {"layer_norm_eps", s.norm_eps},
               {"initializer_range", s.init_std},
               {"use_parallel_residual", s.parallel_branches},
               {"attention_bias", true},
               {"attention_dropout", 0.0},
               {"hidden_dropout", 0.0}};
  write_rotary(rotary, s, json);
  json.erase("rope_theta");
  json["rotary_emb_base"] = rotary.theta;
  json["rotary_pct"] = rotary.partial_factor;
  json["rope_parameters"]["partial_rotary_factor"] = rotary.partial_factor;  // 0.25 if absent
  return json;
}

}  // namespace

const Family gpt_neox{
    "gpt_neox", "GPTNeoXForCausalLM", read, write, {rules, "gpt_neox.", "layers.", /*groups_by_head=*/true}};

}  // namespace dt::model::hf
