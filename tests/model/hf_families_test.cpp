#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/test_folder.hpp"
#include "model/golden_files.hpp"
#include "model/hf/family.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf/hf_names.hpp"

using namespace dt;
using namespace dt::model;
using Json = nlohmann::json;
using kernels::RotaryScaling;

namespace {

/// The sizes that every family's file has.
Json sizes(const char* family, const Json& members = {}) {
  Json json = {{"model_type", family},         {"vocab_size", 61},       {"hidden_size", 24},
               {"intermediate_size", 36},      {"num_hidden_layers", 8}, {"num_attention_heads", 4},
               {"max_position_embeddings", 64}};
  json.update(members.is_null() ? Json::object() : members);
  return json;
}

ModelSpec parsed(const Json& json) {
  return parse_hf_config(json.dump(), "config.json");
}

std::string refusal(const Json& json) {
  try {
    parsed(json);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.message();
  }
  return "";
}

std::vector<std::int64_t> sliding_layers(const ModelSpec& spec) {
  std::vector<std::int64_t> layers;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    if (spec.attention[layer].window) layers.push_back(layer);
  }
  return layers;
}

}  // namespace

TEST_CASE("each family's config.json, as transformers 5 writes it, survives reading and writing") {
  std::vector<std::string> seen;
  for (const std::string& name : test::golden_families()) {
    INFO(name);
    const Hdf5Reader file(test::golden_file(name, DType::f64));
    const ModelSpec spec = parse_hf_config(file.string_attribute("/", "config").value(), name);
    CHECK(parse_hf_config(hf_config(spec), name) == spec);
    seen.push_back(spec.family);
  }
  for (const hf::Family* family : hf::families()) {
    const bool is_old =
        family == &hf::gpt2 || family == &hf::llama || family == &hf::mistral || family == &hf::qwen2;
    CHECK(is_old != (std::ranges::find(seen, family->model_type) != seen.end()));
  }
}

TEST_CASE("files that leave members out have their family's defaults") {
  const ModelSpec qwen3 = parsed(sizes("qwen3"));
  CHECK(qwen3.head_dim == 128);
  CHECK(qwen3.qk_norm == QkNorm::per_head);
  const ModelSpec gemma2 = parsed(sizes("gemma2"));
  CHECK(gemma2.head_dim == 256);
  CHECK(gemma2.tied);
  CHECK(gemma2.score_softcap == 50.0);
  CHECK(gemma2.logit_softcap == 30.0);
  CHECK(gemma2.score_scale == 1 / 16.0);
  CHECK(gemma2.embedding_scale == std::sqrt(24.0));
  CHECK(gemma2.rounds_embedding_scale);
  CHECK(sliding_layers(gemma2) == std::vector<std::int64_t>{0, 2, 4, 6});
  const ModelSpec gemma3 = parsed(sizes("gemma3_text"));
  CHECK_FALSE(gemma3.logit_softcap);
  CHECK(sliding_layers(gemma3) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 6, 7});
  CHECK(gemma3.attention[5].rotary.theta == 1000000);
  CHECK(gemma3.attention[0].rotary.theta == 10000);
  const ModelSpec olmo3 = parsed(sizes("olmo3"));
  CHECK(olmo3.norm_placement == NormPlacement::after);
  CHECK(sliding_layers(olmo3) == std::vector<std::int64_t>{0, 1, 2, 4, 5, 6});
  const ModelSpec smollm3 = parsed(sizes("smollm3"));
  CHECK(smollm3.attention[0].is_rotary);
  CHECK_FALSE(smollm3.attention[3].is_rotary);
  CHECK(smollm3.attention[0].rotary.theta == 2000000);
  const ModelSpec glm4 = parsed(sizes("glm4"));
  CHECK(glm4.attention[0].rotary.partial_factor == 0.5);
  CHECK(glm4.attention[0].rotary.is_interleaved);
  CHECK(glm4.qkv_bias);
  CHECK_FALSE(glm4.attention_output_bias);
  const ModelSpec cohere2 = parsed(sizes("cohere2"));
  CHECK(cohere2.logit_scale == 0.0625);
  CHECK(cohere2.shared_norm);
  CHECK_FALSE(cohere2.attention[3].is_rotary);
  CHECK(cohere2.attention[0].window == 4096);
  const ModelSpec neox = parsed(sizes("gpt_neox"));
  CHECK(neox.attention[0].rotary.partial_factor == 0.25);
  CHECK(neox.parallel_branches);
  CHECK_FALSE(neox.shared_norm);
  CHECK(parsed(sizes("granite")).score_scale == 1.0);
  CHECK_FALSE(parsed(sizes("granite")).rounds_embedding_scale);
  CHECK(sliding_layers(parsed(sizes("ministral"))).size() == 8);
}

TEST_CASE("files of transformers 4 say the same in other members") {
  const ModelSpec gemma3 =
      parsed(sizes("gemma3_text", {{"rope_theta", 1000000.0},
                                   {"rope_local_base_freq", 5000.0},
                                   {"sliding_window_pattern", 2},
                                   {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}}));
  CHECK(sliding_layers(gemma3) == std::vector<std::int64_t>{0, 2, 4, 6});
  CHECK(gemma3.attention[0].rotary == kernels::RotaryFrequencies{.theta = 5000});
  REQUIRE(gemma3.attention[1].rotary.scaling);
  CHECK(gemma3.attention[1].rotary.scaling->factor == 8);

  for (const char* type : {"longrope", "su", "yarn"}) {  // three names of one scaling
    const ModelSpec phi3 = parsed(
        sizes("phi3", {{"partial_rotary_factor", 0.75},
                       {"hidden_size", 32},
                       {"original_max_position_embeddings", 16},
                       {"rope_scaling",
                        {{"type", type}, {"short_factor", {1.0, 1.25, 1.5}}, {"long_factor", {2, 3, 4}}}}}));
    const RotaryScaling& scaling = phi3.attention[0].rotary.scaling.value();
    CHECK(scaling.type == RotaryScaling::Type::longrope);
    CHECK(scaling.factor == 4);
    CHECK(scaling.attention_factor == Approx(std::sqrt(1 + std::log(4.0) / std::log(16.0))));
    CHECK(phi3.attention[0].rotary.partial_factor == 0.75);
  }
  const ModelSpec neox = parsed(sizes("gpt_neox", {{"rotary_pct", 0.5}, {"rotary_emb_base", 500}}));
  CHECK(neox.attention[0].rotary == kernels::RotaryFrequencies{.theta = 500, .partial_factor = 0.5});

  const Json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 16}};
  const auto attention_factor = [&](const Json& more) {
    Json scaling = yarn;
    scaling.update(more);
    return parsed(sizes("llama", {{"rope_scaling", scaling}})).attention[0].rotary.scaling->attention_factor;
  };
  CHECK(attention_factor(Json::object()) == Approx(0.1 * std::log(4.0) + 1));
  CHECK(attention_factor({{"mscale", 1.0}, {"mscale_all_dim", 1.0}}) == 1);
  CHECK(attention_factor({{"attention_factor", 1.5}}) == 1.5);
}

TEST_CASE("a model that also sees images is read as its text model") {
  const Json text = sizes("gemma3_text", {{"head_dim", 8}});
  const ModelSpec inside =
      parsed({{"model_type", "gemma3"}, {"text_config", text}, {"eos_token_id", {1, 106}}});
  CHECK(inside.family == "gemma3_text");
  CHECK(inside.special.eos == std::vector<std::int64_t>{1, 106});
  CHECK(same_computation(inside, parsed(text)));
  Json untyped = sizes("mistral");
  untyped.erase("model_type");
  CHECK(parsed({{"model_type", "mistral3"}, {"text_config", untyped}}).family == "mistral");
  CHECK(refusal({{"model_type", "gemma3"}}).starts_with("config.json: text_config is missing"));
  for (const HfTensor& tensor : hf_tensors(inside)) {
    if (tensor.name != "model.norm.weight") continue;
    CHECK(std::ranges::find(tensor.aliases, "language_model.model.norm.weight") != tensor.aliases.end());
    CHECK(std::ranges::find(tensor.aliases, "model.language_model.norm.weight") != tensor.aliases.end());
  }
}

TEST_CASE("what a family's file says and dt does not compute is refused by field and value") {
  struct Case {
    Json config;
    std::string message;
  };
  const Json long_rope = {{"type", "longrope"}, {"short_factor", {1.0, 1.0}}, {"long_factor", {1.0}}};
  const std::vector<Case> cases = {
      {sizes("gemma3_text", {{"attn_logit_softcapping", 50.0}}),
       "config.json: attn_logit_softcapping is 50.0"},
      {sizes("gemma3_text", {{"use_bidirectional_attention", true}}),
       "config.json: use_bidirectional_attention is true"},
      {sizes("gemma2", {{"hidden_activation", "gelu"}}), "config.json: hidden_activation is \"gelu\""},
      {sizes("olmo3", {{"rope_theta", 10000}}), "config.json: rope_theta is 10000"},
      {sizes("qwen3", {{"use_sliding_window", true}, {"layer_types", {"linear_attention"}}}),
       "config.json: layer_types is"},
      {sizes("gpt_neox", {{"hidden_act", "relu"}}), "config.json: hidden_act is \"relu\""},
      {sizes("gpt_neox", {{"attention_bias", false}}), "config.json: attention_bias is false"},
      {sizes("gpt_neox", {{"rotary_pct", 1.5}}), "config.json: rotary_pct is 1.5"},
      {sizes("phi3", {{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}}),
       "config.json: rope_scaling.type is \"yarn\""},
      {sizes("phi3", {{"rope_scaling", long_rope}}), "config.json: rope_scaling.short_factor is [1.0,1.0]"},
      {sizes("smollm3", {{"no_rope_layers", {1, 0}}}), "config.json: no_rope_layers is [1,0]"},
      {sizes("llama", {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}}),
       "config.json: rope_scaling.type is \"dynamic\""},
  };
  for (const Case& c : cases) CHECK_THAT(refusal(c.config), Catch::StartsWith(c.message));
  CHECK_THAT(refusal(cases.back().config), Catch::Contains("for each length of a sequence"));
}

TEST_CASE("GPT-NeoX stacks query, key and value rows head by head") {
  const ModelSpec spec = parsed(sizes("gpt_neox"));
  const std::vector<HfTensor> tensors = hf_tensors(spec);
  const auto qkv =
      std::ranges::find(tensors, "gpt_neox.layers.1.attention.query_key_value.weight", &HfTensor::name);
  REQUIRE(qkv != tensors.end());
  CHECK(qkv->shape == Shape{72, 24});
  CHECK(qkv->params.size() == 3);
  CHECK(qkv->groups == 4);
  const StackedRows keys{24, 24, 72, 4};
  CHECK(keys.at(0) == 6);  // behind the first head's six query rows
  CHECK(keys.at(5) == 11);
  CHECK(keys.at(6) == 24);  // the second head's
  std::vector<std::uint64_t> runs;
  keys.for_runs(10, 55, 70, [&](std::uint64_t at, std::size_t done, std::size_t count) {
    runs.insert(runs.end(), {at, done, count});
  });
  CHECK(runs == std::vector<std::uint64_t>{115, 0, 5, 240, 5, 60, 420, 65, 5});
  CHECK(hf_head_name(spec) == "embed_out.weight");
}
