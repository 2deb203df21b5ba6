#pragma once
// Configurations of Hugging Face, shared by the tests that read and write them.

#include <nlohmann/json.hpp>
#include <string>

#include "model/hf/hf_config.hpp"
#include "model/model_spec.hpp"

namespace dt::test {

using Json = nlohmann::json;

inline Json gpt2_config() {
  return {{"model_type", "gpt2"}, {"vocab_size", 97}, {"n_layer", 2},
          {"n_embd", 24},         {"n_head", 3},      {"n_positions", 16}};
}
inline Json llama_config() {
  return {{"model_type", "llama"},        {"vocab_size", 97},
          {"num_hidden_layers", 3},       {"hidden_size", 24},
          {"num_attention_heads", 6},     {"intermediate_size", 40},
          {"max_position_embeddings", 32}};
}
/// Returns llama_config with another family.
inline Json like_llama(const char* family) {
  Json config = llama_config();
  config["model_type"] = family;
  return config;
}
inline Json windowed_qwen2(const Json& window, const Json& layers_without) {
  Json config = like_llama("qwen2");
  config["use_sliding_window"] = true;
  config["sliding_window"] = window;
  config["max_window_layers"] = layers_without;
  return config;
}
inline Json llama3_scaling() {
  return {{"rope_type", "llama3"},
          {"factor", 8.0},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 8192}};
}
inline Json with(Json config, const std::string& key, const Json& value) {
  config[key] = value;
  return config;
}
inline model::ModelSpec parse(const Json& config) {
  return model::parse_hf_config(config.dump(), "model/config.json");
}

}  // namespace dt::test
