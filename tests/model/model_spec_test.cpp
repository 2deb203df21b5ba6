#include "model/model_spec.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf_configs.hpp"

using namespace dt;
using namespace dt::model;
using Json = nlohmann::json;
using test::gpt2_config;
using test::like_llama;
using test::llama3_scaling;
using test::llama_config;
using test::parse;
using test::windowed_qwen2;
using test::with;

TEST_CASE("a written configuration reads back as the same spec") {
  std::vector<ModelSpec> specs;
  for (const std::string& name : preset_names()) specs.push_back(load_model_spec(name));
  specs.push_back(parse(with(with(gpt2_config(), "tie_word_embeddings", false), "n_inner", 50)));
  specs.push_back(parse(with(with(llama_config(), "head_dim", 10), "attention_bias", true)));
  specs.push_back(parse(with(with(llama_config(), "rope_theta", 123456.5), "rms_norm_eps", 3.3e-7)));
  specs.push_back(parse(with(with(llama_config(), "mlp_bias", true), "tie_word_embeddings", true)));
  specs.push_back(parse(with(llama_config(), "rope_scaling", {{"type", "linear"}, {"factor", 2.5}})));
  for (const char* family : {"llama", "mistral", "qwen2"}) {
    specs.push_back(parse(with(like_llama(family), "rope_scaling", llama3_scaling())));
    specs.push_back(parse(with(like_llama(family), "sliding_window", nullptr)));
  }
  specs.push_back(parse(with(like_llama("mistral"), "sliding_window", 7)));
  specs.push_back(parse(windowed_qwen2(7, 0)));
  specs.push_back(parse(windowed_qwen2(7, 30)));
  specs.push_back(parse(windowed_qwen2(7, 1)));
  specs.push_back(parse(with(windowed_qwen2(7, 0), "layer_types",
                             {"sliding_attention", "full_attention", "sliding_attention"})));
  CHECK_FALSE(specs.back().attention.is_uniform());
  specs.push_back(parse(with(with(gpt2_config(), "eos_token_id", {5, 6}), "pad_token_id", 7)));
  for (const ModelSpec& spec : specs) CHECK(parse_hf_config(hf_config(spec), "written") == spec);
}

TEST_CASE("written configurations name what transformers needs to load the model") {
  const Json gpt2 = Json::parse(hf_config(load_model_spec("gpt2-124m")));
  CHECK(gpt2["architectures"] == Json{"GPT2LMHeadModel"});
  CHECK(gpt2["model_type"] == "gpt2");
  CHECK(gpt2["torch_dtype"] == "float32");
  CHECK(gpt2["n_inner"] == 3072);
  CHECK(gpt2["tie_word_embeddings"] == true);
  const Json llama = Json::parse(hf_config(load_model_spec("llama-8b")));
  CHECK(llama["architectures"] == Json{"LlamaForCausalLM"});
  CHECK(llama["rope_theta"] == 500000.0);
  CHECK(llama["rope_parameters"] == Json{{"rope_type", "default"}, {"rope_theta", 500000.0}});
  CHECK(llama["num_key_value_heads"] == 8);
  const Json llama_3_2 = Json::parse(hf_config(load_model_spec("llama3.2-1b")));
  CHECK(llama_3_2["rope_scaling"] == with(llama3_scaling(), "factor", 32.0));
  CHECK(llama_3_2["rope_parameters"] == with(with(llama3_scaling(), "factor", 32.0), "rope_theta", 500000.0));
  const Json mistral = Json::parse(hf_config(load_model_spec("mistral-7b")));
  CHECK(mistral["architectures"] == Json{"MistralForCausalLM"});
  CHECK(mistral["sliding_window"] == 4096);
  const Json qwen2 = Json::parse(hf_config(load_model_spec("qwen2-0.5b")));
  CHECK(qwen2["architectures"] == Json{"Qwen2ForCausalLM"});
  CHECK(qwen2["use_sliding_window"] == false);
  CHECK_FALSE(qwen2.contains("layer_types"));
  const Json mixed = Json::parse(hf_config(parse(windowed_qwen2(7, 2))));
  CHECK(mixed["use_sliding_window"] == true);
  CHECK(mixed["sliding_window"] == 7);
  CHECK(mixed["max_window_layers"] == 2);
  CHECK(mixed["layer_types"] == Json{"full_attention", "full_attention", "sliding_attention"});
}

TEST_CASE("a spec that its family cannot express is not written") {
  ModelSpec spec = load_model_spec("gpt2-124m");
  spec.norm = Norm::rms_norm;
  CHECK_THROWS_AS(hf_config(spec), Error);
  spec.family = "rnn";
  CHECK_THROWS_AS(hf_config(spec), Error);
  ModelSpec llama = load_model_spec("llama-tiny");
  llama.qkv_bias = true;  // a bias that Qwen2 has and Llama has not
  CHECK_THROWS_AS(hf_config(llama), Error);
  llama = load_model_spec("llama-tiny");
  llama.attention = AttentionSpec{.window = 8};
  CHECK_THROWS_AS(hf_config(llama), Error);
  ModelSpec qwen2 = parse(windowed_qwen2(7, 1));
  std::vector<AttentionSpec> each;
  for (std::int64_t layer = 0; layer < qwen2.layers; ++layer) each.push_back(qwen2.attention[layer]);
  each.back().window = 8;  // windows of two sizes
  qwen2.attention = PerLayer(each);
  CHECK_THROWS_AS(hf_config(qwen2), Error);
  each.back() = {.window = 7, .rotary = {5000, {}}};  // rotary positions of one layer
  qwen2.attention = PerLayer(each);
  CHECK_THROWS_AS(hf_config(qwen2), Error);
}

TEST_CASE("presets and files are loaded; an unknown name lists the presets") {
  CHECK(load_model_spec("gpt2-1.5b").query_heads == 25);
  CHECK(load_model_spec("llama-tiny").vocabulary == 320);
  try {
    load_model_spec("gpt3");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK_THAT(error.message(), Catch::Contains("'gpt3'"));
    for (const std::string& name : preset_names()) CHECK_THAT(error.message(), Catch::Contains(name));
  }
  CHECK_THROWS_AS(load_model_spec(DT_TESTS_DIR), Error);  // a folder
}

TEST_CASE("a model ends texts as its data do: one end is replaced, several are kept") {
  using Ids = std::vector<std::int64_t>;
  const auto ends = [](const SpecialTokens& special, std::int64_t eos) {
    return with_end_of_text(special, eos).eos;
  };
  CHECK(ends({{}, {}, {}}, 3) == Ids{3});
  CHECK(ends({{}, {3}, {}}, 3) == Ids{3});
  CHECK(ends({{}, {2}, {}}, 3) == Ids{3});
  CHECK(ends({{}, {2, 3, 4}, {}}, 3) == Ids{2, 3, 4});
  CHECK(ends({{}, {2, 4}, {}}, 3) == Ids{3, 2, 4});
  CHECK(with_end_of_text({{}, {2}, {}}, 3, false).eos == Ids{3, 2});
  // The token that begins texts is kept, unless it was also the one that ended them. Padding is
  // kept.
  CHECK(with_end_of_text({1, {2}, 9}, 3) == SpecialTokens{1, {3}, 9});
  CHECK(with_end_of_text({2, {2}, 9}, 3) == SpecialTokens{3, {3}, 9});
  CHECK(with_end_of_text({2, {2, 4}, 9}, 3) == SpecialTokens{2, {3, 2, 4}, 9});
  for (const std::string& preset : preset_names())
    CHECK(parse_hf_config(hf_config([&] {
                            ModelSpec spec = load_model_spec(preset);
                            spec.special = with_end_of_text(spec.special, 0);
                            return spec;
                          }()),
                          preset)
              .special.eos == Ids{0});
}

TEST_CASE("special tokens are no part of what a model computes") {
  ModelSpec a = parse(gpt2_config()), b = a;
  b.special = {1, {2, 3}, 4};
  CHECK(same_computation(a, b));
  b.tied = !b.tied;
  CHECK_FALSE(same_computation(a, b));
}

TEST_CASE("a generation_config.json keeps all but its ends of a text") {
  const SpecialTokens special{1, {2, 3}, {}};
  const auto kept = Json::parse(hf_generation_config(
      special, R"({"temperature": 0.6, "eos_token_id": 7, "pad_token_id": 0})", "given"));
  CHECK(kept == Json{{"temperature", 0.6}, {"eos_token_id", {2, 3}}, {"pad_token_id", 0}});
  const std::string made = hf_generation_config(special, "", "none");
  CHECK(Json::parse(made) == Json{{"bos_token_id", 1}, {"eos_token_id", {2, 3}}});
  CHECK(parse_generation_ends(made, "made") == std::vector<std::int64_t>{2, 3});
  CHECK(parse_generation_ends("{}", "made").empty());
  CHECK_THROWS_WITH(parse_generation_ends(R"({"eos_token_id": "x"})", "g.json"),
                    Catch::Contains("g.json: eos_token_id is \"x\""));
  CHECK_THROWS_WITH(hf_generation_config(special, "[]", "g.json"), Catch::Contains("g.json"));
}
