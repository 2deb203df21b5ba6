#include "model/model_spec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/text/suggest.hpp"
#include "model/hf/hf_config.hpp"
#include "model/layers/mlp_layer.hpp"

namespace dt::model {

namespace {

struct Preset {
  std::string name;
  ModelSpec spec;
};

/// Source: Radford et al. 2019, table 2.
ModelSpec gpt2(std::int64_t hidden, std::int64_t layers, std::int64_t heads) {
  ModelSpec s;
  s.family = "gpt2";
  s.vocabulary = 50257;
  s.layers = layers;
  s.hidden = hidden;
  s.query_heads = s.key_value_heads = heads;
  s.head_dim = hidden / heads;
  s.mlp_hidden = 4 * hidden;
  s.max_positions = 1024;
  s.special = {50256, {50256}, {}};
  return s;
}

struct LlamaSizes {
  std::int64_t hidden, layers, query_heads, key_value_heads, mlp_hidden, vocabulary, max_positions;
};

ModelSpec llama(const LlamaSizes& sizes) {
  ModelSpec s;
  s.family = "llama";
  s.vocabulary = sizes.vocabulary;
  s.layers = sizes.layers;
  s.hidden = sizes.hidden;
  s.query_heads = sizes.query_heads;
  s.key_value_heads = sizes.key_value_heads;
  s.head_dim = sizes.hidden / sizes.query_heads;
  s.mlp_hidden = sizes.mlp_hidden;
  s.max_positions = sizes.max_positions;
  s.norm = Norm::rms_norm;
  s.position = Position::rotary;
  s.feed_forward = &swiglu_mlp();
  s.qkv_bias = s.attention_output_bias = s.mlp_bias = s.tied = s.scaled_residual_init = false;
  return s;
}

/// Source: Zhang et al. 2024 (TinyLlama), table 1.
ModelSpec llama_1b() {
  ModelSpec s = llama({2048, 22, 32, 4, 5632, 32000, 2048});
  s.special = {1, {2}, {}};
  return s;
}

/// Source: Dubey et al. 2024 and the model card of Llama 3.2; config.json of Llama-3.2-1B.
ModelSpec llama_3_2_1b() {
  ModelSpec s = llama({2048, 16, 32, 8, 8192, 128256, 131072});
  const kernels::RotaryScaling scaling{kernels::RotaryScaling::Type::llama3, 32, 1, 4, 8192};
  s.attention = AttentionSpec{.rotary = {500000, scaling}};
  s.tied = true;
  s.special = {128000, {128001}, {}};
  return s;
}

/// Source: Jiang et al. 2023, table 1; config.json of Mistral-7B-v0.1.
ModelSpec mistral_7b() {
  ModelSpec s = llama({4096, 32, 32, 8, 14336, 32000, 32768});
  s.family = "mistral";
  s.attention = AttentionSpec{.window = 4096};
  s.special = {1, {2}, {}};
  return s;
}

/// Source: Yang et al. 2024, table 1; config.json of Qwen2-0.5B.
ModelSpec qwen2_0_5b() {
  ModelSpec s = llama({896, 24, 14, 2, 4864, 151936, 131072});
  s.family = "qwen2";
  s.norm_eps = 1e-6;
  s.attention = AttentionSpec{.rotary = {1000000, {}}};
  s.qkv_bias = s.tied = true;
  s.special = {151643, {151643}, {}};
  return s;
}

/// Source: Yang et al. 2025, table 1; config.json of Qwen3-0.6B and Qwen3-8B.
ModelSpec qwen3(const LlamaSizes& sizes, bool tied) {
  ModelSpec s = llama(sizes);
  s.family = "qwen3";
  s.head_dim = 128;
  s.norm_eps = 1e-6;
  s.qk_norm = QkNorm::per_head;
  s.attention = AttentionSpec{.rotary = {.theta = 1000000}};
  s.tied = tied;
  s.special = {151643, {151645}, {}};
  return s;
}

/// Source: Gemma Team 2025, table 1 and section 2; config.json of gemma-3-1b-pt.
ModelSpec gemma3_1b() {
  ModelSpec s = llama({1152, 26, 4, 1, 6912, 262144, 32768});
  s.family = "gemma3_text";
  s.head_dim = 256;
  s.norm_eps = 1e-6;
  s.norm_weight_plus_one = true;
  s.norm_placement = NormPlacement::around;
  s.qk_norm = QkNorm::per_head;
  s.feed_forward = &geglu_mlp();
  s.score_scale = 1 / std::sqrt(256.0);
  s.embedding_scale = std::sqrt(1152.0);
  s.rounds_embedding_scale = true;
  std::vector<AttentionSpec> layers;
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    const bool is_full = (layer + 1) % 6 == 0;
    layers.push_back(is_full ? AttentionSpec{.rotary = {.theta = 1000000}} : AttentionSpec{.window = 512});
  }
  s.attention = PerLayer(std::move(layers));
  s.tied = true;
  s.special = {2, {1}, 0};
  return s;
}

/// Source: OLMo Team 2024, table 3; config.json of OLMo-2-0425-1B.
ModelSpec olmo2_1b() {
  ModelSpec s = llama({2048, 16, 16, 16, 8192, 100352, 4096});
  s.family = "olmo2";
  s.norm_eps = 1e-6;
  s.norm_placement = NormPlacement::after;
  s.qk_norm = QkNorm::full_width;
  s.attention = AttentionSpec{.rotary = {.theta = 500000}};
  s.special = {{}, {100257}, 100277};
  return s;
}

/// Source: Biderman et al. 2023, table 1; config.json of pythia-160m.
ModelSpec pythia_160m() {
  ModelSpec s = llama({768, 12, 12, 12, 3072, 50304, 2048});
  s.family = "gpt_neox";
  s.norm = Norm::layer_norm;
  s.parallel_branches = true;
  s.feed_forward = &gelu_erf_mlp();
  s.attention = AttentionSpec{.rotary = {.partial_factor = 0.25}};
  s.qkv_bias = s.attention_output_bias = s.mlp_bias = true;
  s.special = {0, {0}, {}};
  return s;
}

/// Returns the spec of Llama 3 in a larger size.
/// Source: Dubey et al. 2024, table 3.
ModelSpec llama3(const LlamaSizes& sizes) {
  ModelSpec s = llama(sizes);
  s.attention = AttentionSpec{.rotary = {.theta = 500000}};
  s.special = {128000, {128001}, {}};
  return s;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list{{"gpt2-124m", gpt2(768, 12, 12)},
                                        {"gpt2-350m", gpt2(1024, 24, 16)},
                                        {"gpt2-774m", gpt2(1280, 36, 20)},
                                        {"gpt2-1.5b", gpt2(1600, 48, 25)},
                                        {"llama-tiny", llama({64, 2, 4, 2, 176, 320, 256})},
                                        {"llama-1b", llama_1b()},
                                        {"llama-8b", llama3({4096, 32, 32, 8, 14336, 128256, 8192})},
                                        {"llama3.2-1b", llama_3_2_1b()},
                                        {"mistral-7b", mistral_7b()},
                                        {"qwen2-0.5b", qwen2_0_5b()},
                                        {"llama3-70b", llama3({8192, 80, 64, 8, 28672, 128256, 8192})},
                                        {"llama3-405b", llama3({16384, 126, 128, 8, 53248, 128256, 8192})},
                                        {"qwen3-0.6b", qwen3({1024, 28, 16, 8, 3072, 151936, 40960}, true)},
                                        {"qwen3-8b", qwen3({4096, 36, 32, 8, 12288, 151936, 40960}, false)},
                                        {"gemma3-1b", gemma3_1b()},
                                        {"olmo2-1b", olmo2_1b()},
                                        {"pythia-160m", pythia_160m()}};
  return list;
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

bool same_computation(const ModelSpec& a, const ModelSpec& b) {
  ModelSpec other = b;
  other.special = a.special;
  return a == other;
}

SpecialTokens with_end_of_text(SpecialTokens special, std::int64_t eos, bool replaces_one) {
  std::vector<std::int64_t>& ends = special.eos;
  if (std::find(ends.begin(), ends.end(), eos) != ends.end()) return special;
  if (replaces_one && ends.size() == 1) {
    if (special.bos == ends.front()) special.bos = eos;
    ends.clear();
  }
  ends.insert(ends.begin(), eos);
  return special;
}

std::string ends_text(const SpecialTokens& special) {
  return special.eos.empty() ? "none" : fmt::format("{}", fmt::join(special.eos, ", "));
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Preset& preset : presets()) all.push_back(preset.name);
    return all;
  }();
  return names;
}

bool is_preset(const std::string& name) {
  return std::find(preset_names().begin(), preset_names().end(), name) != preset_names().end();
}

ModelSpec load_model_spec(const std::string& preset_or_path) {
  for (const Preset& preset : presets()) {
    if (preset.name == preset_or_path) return preset.spec;
  }
  if (!path_exists(preset_or_path)) {
    throw Error(ErrorKind::input, fmt::format("'{}' is neither a model preset nor a file", preset_or_path),
                fmt::format("{}presets: {}; or give the path of a Hugging Face config.json",
                            did_you_mean(preset_or_path, preset_names()), listed(preset_names())));
  }
  return parse_hf_config(read_file(preset_or_path), preset_or_path);
}

}  // namespace dt::model
