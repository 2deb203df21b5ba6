// GPT-2.

#include <array>
#include <nlohmann/json.hpp>

#include "model/hf/family.hpp"

namespace dt::model::hf {

namespace {

/// Reads a gpt2 model. Dropout probabilities are not read: dt trains without dropout, and
/// transformers writes 0.1 by default.
ModelSpec read(const Config& config) {
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});  // two names of one formula
  config.require("scale_attn_weights", {true});
  config.require("scale_attn_by_inverse_layer_idx", {false});
  config.require("reorder_and_upcast_attn", {false});

  ModelSpec s;
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
  return s;
}

Json write(const ModelSpec& s) {
  return {{"vocab_size", s.vocabulary},
          {"n_positions", s.max_positions},
          {"n_embd", s.hidden},
          {"n_layer", s.layers},
          {"n_head", s.query_heads},
          {"n_inner", s.mlp_hidden},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", s.norm_eps},
          {"initializer_range", s.init_std},
          {"embd_pdrop", 0.0},
          {"attn_pdrop", 0.0},
          {"resid_pdrop", 0.0},
          {"scale_attn_weights", true},
          {"scale_attn_by_inverse_layer_idx", false},
          {"reorder_and_upcast_attn", false}};
}

constexpr std::array rules{NameRule{"embedding.token", "wte"},
                           NameRule{"embedding.position", "wpe"},
                           NameRule{"attention_norm", "ln_1"},
                           NameRule{"attention.q", "attn.c_attn", true},
                           NameRule{"attention.k", "attn.c_attn", true},
                           NameRule{"attention.v", "attn.c_attn", true},
                           NameRule{"attention.output", "attn.c_proj", true},
                           NameRule{"mlp_norm", "ln_2"},
                           NameRule{"mlp.up", "mlp.c_fc", true},
                           NameRule{"mlp.down", "mlp.c_proj", true},
                           NameRule{"final_norm", "ln_f"},
                           NameRule{"head", "lm_head"}};

}  // namespace

const Family gpt2{"gpt2", "GPT2LMHeadModel", read, write, {rules, "transformer.", "h."}};

}  // namespace dt::model::hf
