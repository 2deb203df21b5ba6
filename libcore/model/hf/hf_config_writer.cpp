// Writes Hugging Face's config.json. Only this file, the reader and hf_names.cpp know families by
// name.

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "model/hf/hf_config.hpp"

namespace dt::model {

namespace {

using Json = nlohmann::ordered_json;
using kernels::RotaryScaling;

Json number_or_null(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json write_gpt2(const ModelSpec& s) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", s.vocabulary},
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

/// Returns the rope_type and its settings.
Json rotary_scaling(const std::optional<RotaryScaling>& scaling) {
  if (!scaling) return {{"rope_type", "default"}};
  if (scaling->type == RotaryScaling::Type::linear)
    return {{"rope_type", "linear"}, {"factor", scaling->factor}};
  return {{"rope_type", "llama3"},
          {"factor", scaling->factor},
          {"low_freq_factor", scaling->low_frequency_factor},
          {"high_freq_factor", scaling->high_frequency_factor},
          {"original_max_position_embeddings", scaling->original_positions}};
}

/// Writes what Llama and its descendants share.
Json write_llama_like(const ModelSpec& s, const char* architecture) {
  const kernels::RotaryFrequencies& rotary = s.attention[0].rotary;
  Json rope_parameters = rotary_scaling(rotary.scaling);
  rope_parameters["rope_theta"] = rotary.theta;
  return {{"architectures", {architecture}},
          {"model_type", s.family},
          {"vocab_size", s.vocabulary},
          {"max_position_embeddings", s.max_positions},
          {"hidden_size", s.hidden},
          {"intermediate_size", s.mlp_hidden},
          {"num_hidden_layers", s.layers},
          {"num_attention_heads", s.query_heads},
          {"num_key_value_heads", s.key_value_heads},
          {"head_dim", s.head_dim},
          {"hidden_act", "silu"},
          {"rms_norm_eps", s.norm_eps},
          {"initializer_range", s.init_std},
          {"rope_theta", rotary.theta},
          {"rope_parameters", rope_parameters},  // for transformers 5
          {"rope_scaling", rotary.scaling ? rotary_scaling(rotary.scaling) : Json(nullptr)},
          {"attention_dropout", 0.0}};
}

Json write_llama(const ModelSpec& s) {
  Json json = write_llama_like(s, "LlamaForCausalLM");
  json["attention_bias"] = s.qkv_bias;
  json["mlp_bias"] = s.mlp_bias;
  return json;
}

Json write_mistral(const ModelSpec& s) {
  Json json = write_llama_like(s, "MistralForCausalLM");
  json["sliding_window"] = number_or_null(s.attention[0].window);
  return json;
}

/// Writes the layers that have a window. Files of windows in some layers also have layer_types, which
/// transformers 5 takes.
Json write_qwen2(const ModelSpec& s) {
  Json json = write_llama_like(s, "Qwen2ForCausalLM");
  std::int64_t first = 0;  // layer with a window
  while (first < s.layers && !s.attention[first].window) ++first;
  const bool has_window = first < s.layers;
  json["use_sliding_window"] = has_window;
  json["sliding_window"] = has_window ? Json(*s.attention[first].window) : Json(nullptr);
  json["max_window_layers"] = first;
  for (std::int64_t layer = 0; layer < s.layers && !s.attention.is_uniform(); ++layer)
    json["layer_types"].push_back(s.attention[layer].window ? "sliding_attention" : "full_attention");
  return json;
}

/// Writes a single id without a list, as most files do.
Json ends_json(const std::vector<std::int64_t>& ends) {
  if (ends.empty()) return nullptr;
  return ends.size() == 1 ? Json(ends.front()) : Json(ends);
}

void write_special(const SpecialTokens& special, Json& json) {
  json["bos_token_id"] = number_or_null(special.bos);
  json["eos_token_id"] = ends_json(special.eos);
  if (special.pad) json["pad_token_id"] = *special.pad;
}

std::string torch_dtype(DType dtype) {
  const std::string_view name = traits_of(dtype).torch;
  DT_CHECK(!name.empty(), "a config.json names no weights of {}", dtype_name(dtype));
  return std::string(name);
}

struct Family {
  const char* name;
  Json (*write)(const ModelSpec&);
};
constexpr Family families[] = {
    {"gpt2", write_gpt2}, {"llama", write_llama}, {"mistral", write_mistral}, {"qwen2", write_qwen2}};

}  // namespace

std::string hf_config(const ModelSpec& spec, DType weights) {
  for (const Family& family : families) {
    if (spec.family != family.name) continue;
    Json json = family.write(spec);
    write_special(spec.special, json);
    json["tie_word_embeddings"] = spec.tied;
    json["torch_dtype"] = torch_dtype(weights);
    json["use_cache"] = true;
    std::string text = json.dump(2) + "\n";
    DT_CHECK(parse_hf_config(text, "hf_config") == spec, "a spec that a {} config.json cannot express",
             spec.family);
    return text;
  }
  throw Error(ErrorKind::internal, fmt::format("no config.json for the family '{}'", spec.family));
}

std::string hf_generation_config(const SpecialTokens& special, std::string_view given,
                                 const std::string& origin) {
  Json json;
  if (given.empty()) {
    write_special(special, json);
  } else {
    json = parse_json_object(given, {origin});
    json["eos_token_id"] = ends_json(special.eos);
  }
  return json.dump(2) + "\n";
}

}  // namespace dt::model
