// GLM-4.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

constexpr std::array norm_rules{NameRule{"attention_output_norm", "post_self_attn_layernorm"},
                                NameRule{"mlp_norm", "post_attention_layernorm"},
                                NameRule{"mlp_output_norm", "post_mlp_layernorm"}};
constexpr auto rules = with(llama_rules, norm_rules, fused_gate_up_rules);

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(
      config,
      {.norm_eps = 1.5625e-7, .head_dim = 128, .rotary = {.partial_factor = 0.5, .may_be_partial = true}});
  require_silu(config);
  s.qkv_bias = config.flag_or("attention_bias", true);
  s.norm_placement = NormPlacement::around;
  kernels::RotaryFrequencies rotary = s.attention[0].rotary;
  rotary.is_interleaved = true;
  s.attention = AttentionSpec{.rotary = rotary};
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["attention_bias"] = s.qkv_bias;
  json["partial_rotary_factor"] = s.attention[0].rotary.partial_factor;  // 0.5 if absent
  return json;
}

}  // namespace

const Family glm4{"glm4", "Glm4ForCausalLM", read, write, {rules}};

}  // namespace dt::model::hf
