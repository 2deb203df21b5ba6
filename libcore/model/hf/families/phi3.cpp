// Phi-3, Phi-3.5, Phi-4 and Phi-4-mini.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

/// Refuses YaRN, which transformers does not compute for this family. In its files, `yarn` is an older name
/// of `longrope`.
void refuse_yarn(const Config& config, const ModelSpec& spec) {
  const auto& scaling = spec.attention[0].rotary.scaling;
  if (!scaling || scaling->type != kernels::RotaryScaling::Type::yarn) return;
  const Config rope = config.nested(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters");
  rope.refuse(rope.has("rope_type") ? "rope_type" : "type",
              "\"longrope\", or \"yarn\" with short_factor and long_factor");
}

constexpr auto rules = with(llama_rules, fused_qkv_rules, fused_gate_up_rules);

ModelSpec read(const Config& config) {
  ModelSpec s = read_without_biases(config, {.norm_eps = 1e-5, .rotary = {.may_be_partial = true}});
  refuse_yarn(config, s);
  set_windows(s, read_window_size(config, std::nullopt));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["sliding_window"] = number_or_null(s.attention[0].window);
  json["resid_pdrop"] = 0.0;
  json["embd_pdrop"] = 0.0;
  return json;
}

}  // namespace

const Family phi3{"phi3", "Phi3ForCausalLM", read, write, {rules}};

}  // namespace dt::model::hf
