// OLMo 2.

#include <nlohmann/json.hpp>

#include "model/hf/families/olmo.hpp"

namespace dt::model::hf {

namespace {

constexpr auto rules = with(llama_rules, olmo_norm_rules, qk_norm_rules);

ModelSpec read(const Config& config) {
  return read_olmo(config, {});
}

Json write(const ModelSpec& s) {
  return write_olmo(s);
}

}  // namespace

const Family olmo2{"olmo2", "Olmo2ForCausalLM", read, write, {rules}};

}  // namespace dt::model::hf
