// Gemma 2.

#include <nlohmann/json.hpp>

#include "model/hf/families/gemma.hpp"

namespace dt::model::hf {

namespace {

constexpr auto rules = with(llama_rules, gemma_norm_rules);

ModelSpec read(const Config& config) {
  ModelSpec s = read_gemma(config);
  s.score_softcap = read_cap(config, "attn_logit_softcapping", 50);
  s.logit_softcap = read_cap(config, "final_logit_softcapping", 30);
  const auto slides = [](std::int64_t layer) { return (layer + 1) % 2 != 0; };
  set_windows(s, windows_of(read_layer_types(config, s.layers, slides), read_window_size(config)));
  return s;
}

Json write(const ModelSpec& s) {
  Json json = write_gemma(s);
  json["attn_logit_softcapping"] = cap_or_null(s.score_softcap);
  json["final_logit_softcapping"] = cap_or_null(s.logit_softcap);
  return json;
}

}  // namespace

const Family gemma2{"gemma2", "Gemma2ForCausalLM", read, write, {rules}};

}  // namespace dt::model::hf
