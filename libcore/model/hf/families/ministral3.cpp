// Ministral 3.

#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

ModelSpec read(const Config& config) {
  ModelSpec s =
      read_without_biases(config, {.norm_eps = 1e-5, .head_dim = 128, .rotary = {.may_be_partial = true}});
  if (config.has("rope_parameters")) {
    const Config rope = config.nested("rope_parameters");
    kernels::RotaryFrequencies rotary = s.attention[0].rotary;
    rotary.query_scale = rope.has("llama_4_scaling_beta") ? rope.positive("llama_4_scaling_beta") : 0;
    if (rotary.query_scale != 0 && !rotary.scaling)
      rope.refuse("llama_4_scaling_beta", "null without a rope_type that extends positions");
    s.attention = AttentionSpec{.rotary = rotary};
  }
  set_windows(s, read_window_size(config, std::nullopt));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json.erase("rope_scaling");  // transformers 5 would take it instead of rope_parameters
  json.erase("rope_theta");
  if (const double scale = s.attention[0].rotary.query_scale; scale != 0)
    json["rope_parameters"]["llama_4_scaling_beta"] = scale;
  json["sliding_window"] = number_or_null(s.attention[0].window);
  return json;
}

}  // namespace

const Family ministral3{
    "ministral3", "Ministral3ForCausalLM", read, write, {.rules = llama_rules, .may_be_wrapped = true}};

}  // namespace dt::model::hf
