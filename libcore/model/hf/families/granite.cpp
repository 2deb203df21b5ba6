// Granite.

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/hf/families/llama_like.hpp"

namespace dt::model::hf {

namespace {

/// Returns the number whose reciprocal, rounded, is `factor`.
double reciprocal_of(double factor) {
  double divisor = 1 / factor;
  for (const double next : {divisor, std::nextafter(divisor, 0.0), std::nextafter(divisor, 1e300)}) {
    if (1 / next == factor) divisor = next;
  }
  return divisor;
}

ModelSpec read(const Config& config) {
  ModelSpec s = read_llama_like(config);
  require_silu(config);
  s.qkv_bias = s.attention_output_bias = config.flag_or("attention_bias", false);
  s.mlp_bias = config.flag_or("mlp_bias", false);
  s.embedding_scale = config.positive_or("embedding_multiplier", 1);
  s.score_scale = config.positive_or("attention_multiplier", 1);
  s.residual_scale = config.positive_or("residual_multiplier", 1);
  s.logit_scale = 1 / config.positive_or("logits_scaling", 1);
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_llama_like(s);
  json["attention_bias"] = s.qkv_bias;
  json["mlp_bias"] = s.mlp_bias;
  json["embedding_multiplier"] = s.embedding_scale;
  json["attention_multiplier"] = s.score_scale.value();
  json["residual_multiplier"] = s.residual_scale;
  json["logits_scaling"] = reciprocal_of(s.logit_scale);
  return json;
}

}  // namespace

const Family granite{"granite", "GraniteForCausalLM", read, write, {llama_rules}};

}  // namespace dt::model::hf
