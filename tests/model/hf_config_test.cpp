#include "model/hf/hf_config.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
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

namespace {

/// Returns the message of the input error that the text causes; "" if there is none.
std::string error_of(const std::string& text) {
  try {
    parse_hf_config(text, "model/config.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.message();
  }
  return "";
}
std::string error_of(const Json& config) {
  return error_of(config.dump());
}

}  // namespace

TEST_CASE("GPT-2 configurations are read, with transformers' defaults") {
  const ModelSpec s = parse(gpt2_config());
  CHECK(s.family == "gpt2");
  CHECK(s.vocabulary == 97);
  CHECK(s.layers == 2);
  CHECK(s.hidden == 24);
  CHECK(s.query_heads == 3);
  CHECK(s.key_value_heads == 3);
  CHECK(s.head_dim == 8);
  CHECK(s.mlp_hidden == 96);
  CHECK(s.max_positions == 16);
  CHECK(s.norm == Norm::layer_norm);
  CHECK(s.norm_eps == 1e-5);
  CHECK(s.position == Position::learned);
  CHECK(s.feed_forward[0] == &gelu_mlp());
  CHECK(s.qkv_bias);
  CHECK(s.attention_output_bias);
  CHECK(s.mlp_bias);
  CHECK(s.tied);
  CHECK(s.init_std == 0.02);
  CHECK(s.scaled_residual_init);
  CHECK_FALSE(s.special.bos);

  CHECK(parse(with(gpt2_config(), "n_inner", 50)).mlp_hidden == 50);
  CHECK(parse(with(gpt2_config(), "n_inner", nullptr)).mlp_hidden == 96);
  CHECK_FALSE(parse(with(gpt2_config(), "tie_word_embeddings", false)).tied);
  CHECK(parse(with(gpt2_config(), "layer_norm_epsilon", 1e-6)).norm_eps == 1e-6);
  CHECK(parse(with(gpt2_config(), "eos_token_id", 5)).special.eos == std::vector<std::int64_t>{5});
  CHECK_FALSE(parse(with(gpt2_config(), "pad_token_id", nullptr)).special.pad);
  Json older = gpt2_config();
  older.erase("n_positions");
  CHECK(parse(with(older, "n_ctx", 20)).max_positions == 20);
}

TEST_CASE("Llama configurations are read, with transformers' defaults") {
  const ModelSpec s = parse(llama_config());
  CHECK(s.family == "llama");
  CHECK(s.query_heads == 6);
  CHECK(s.key_value_heads == 6);
  CHECK(s.head_dim == 4);
  CHECK(s.mlp_hidden == 40);
  CHECK(s.max_positions == 32);
  CHECK(s.norm == Norm::rms_norm);
  CHECK(s.norm_eps == 1e-6);
  CHECK(s.position == Position::rotary);
  CHECK(s.attention[0].rotary.theta == 10000);
  CHECK(s.feed_forward[0] == &swiglu_mlp());
  CHECK_FALSE(s.qkv_bias);
  CHECK_FALSE(s.attention_output_bias);
  CHECK_FALSE(s.attention[0].window);
  CHECK_FALSE(s.attention[0].rotary.scaling);
  CHECK_FALSE(s.mlp_bias);
  CHECK_FALSE(s.tied);
  CHECK_FALSE(s.scaled_residual_init);

  CHECK(parse(with(llama_config(), "num_key_value_heads", 2)).key_value_heads == 2);
  CHECK(parse(with(llama_config(), "head_dim", 10)).head_dim == 10);
  const ModelSpec biased = parse(with(llama_config(), "attention_bias", true));
  CHECK(biased.qkv_bias);
  CHECK(biased.attention_output_bias);
  CHECK(parse(with(llama_config(), "mlp_bias", true)).mlp_bias);
  CHECK(parse(with(llama_config(), "tie_word_embeddings", true)).tied);
  CHECK(parse(with(llama_config(), "eos_token_id", {128001, 128009})).special.eos ==
        std::vector<std::int64_t>{128001, 128009});
  CHECK(parse(with(llama_config(), "pad_token_id", 128004)).special.pad == 128004);
  CHECK(parse(with(llama_config(), "hidden_act", "swish")) == parse(llama_config()));
}

TEST_CASE("Mistral has a window unless the file says null, and no biases") {
  const ModelSpec s = parse(like_llama("mistral"));
  CHECK(s.family == "mistral");
  CHECK(s.attention[0].window == 4096);
  CHECK_FALSE(s.qkv_bias);
  CHECK_FALSE(s.attention_output_bias);
  CHECK_FALSE(s.mlp_bias);
  CHECK(parse(with(like_llama("mistral"), "sliding_window", 7)).attention[0].window == 7);
  CHECK_FALSE(parse(with(like_llama("mistral"), "sliding_window", nullptr)).attention[0].window);
  CHECK(parse(with(like_llama("mistral"), "head_dim", 10)).head_dim == 10);
}

TEST_CASE("Qwen2 has biases on q, k and v, and a window where the file says so for all layers") {
  const ModelSpec s = parse(like_llama("qwen2"));
  CHECK(s.family == "qwen2");
  CHECK(s.qkv_bias);
  CHECK_FALSE(s.attention_output_bias);
  CHECK_FALSE(s.mlp_bias);
  CHECK_FALSE(s.attention[0].window);
  CHECK_FALSE(parse(with(windowed_qwen2(7, 0), "use_sliding_window", false)).attention[0].window);
  CHECK(parse(windowed_qwen2(7, 0)).attention[0].window == 7);
  CHECK_FALSE(parse(windowed_qwen2(nullptr, 0)).attention[0].window);
  CHECK_FALSE(parse(windowed_qwen2(7, 3)).attention[0].window);  // a window for none of three layers
  const Json windows(3, "sliding_attention"), none(3, "full_attention");
  CHECK(parse(with(windowed_qwen2(7, 2), "layer_types", windows)).attention[0].window == 7);
  CHECK_FALSE(parse(with(like_llama("qwen2"), "layer_types", none)).attention[0].window);
  // transformers 5 writes layer_types beside a window that no layer uses.
  CHECK_FALSE(parse(with(windowed_qwen2(7, 3), "layer_types", none)).attention[0].window);
  CHECK_FALSE(parse(with(windowed_qwen2(7, 0), "layer_types", none)).attention[0].window);
}

TEST_CASE("Qwen2 has windows in the layers that the file names") {
  const std::vector<std::string> types{"sliding_attention", "full_attention", "sliding_attention"};
  const ModelSpec named = parse(with(windowed_qwen2(7, 0), "layer_types", types));
  const ModelSpec counted = parse(windowed_qwen2(7, 2));
  CHECK(named.attention[0].window == 7);
  CHECK_FALSE(named.attention[1].window);
  CHECK(named.attention[2].window == 7);
  CHECK_FALSE(counted.attention[0].window);
  CHECK_FALSE(counted.attention[1].window);
  CHECK(counted.attention[2].window == 7);
  CHECK(parse(with(windowed_qwen2(7, 0), "rope_theta", 500)).attention[2].rotary.theta == 500);
  CHECK(parse(with(windowed_qwen2(7, 1), "rope_theta", 500)).attention[2].rotary.theta == 500);
}

TEST_CASE("rotary scaling is read from either of its homes") {
  using kernels::RotaryScaling;
  const RotaryScaling llama3{RotaryScaling::Type::llama3, 8, 1, 4, 8192};
  for (const char* family : {"llama", "mistral", "qwen2"}) {
    CHECK(parse(with(like_llama(family), "rope_scaling", llama3_scaling())).attention[0].rotary.scaling ==
          llama3);
    const ModelSpec nested =
        parse(with(like_llama(family), "rope_parameters", with(llama3_scaling(), "rope_theta", 500000)));
    CHECK(nested.attention[0].rotary.scaling == llama3);
    CHECK(nested.attention[0].rotary.theta == 500000);
  }
  for (const char* key : {"type", "rope_type"}) {
    const auto linear = parse(with(llama_config(), "rope_scaling", {{key, "linear"}, {"factor", 2}}))
                            .attention[0]
                            .rotary.scaling;
    CHECK(linear.value().type == RotaryScaling::Type::linear);
    CHECK(linear.value().factor == 2);
  }
  CHECK_THAT(error_of(with(with(llama_config(), "rope_scaling", llama3_scaling()), "rope_parameters",
                           {{"rope_type", "default"}})),
             Catch::Contains("rope_parameters is {\"rope_type\":\"default\"}"));
}

TEST_CASE("the rotary base is read from either of its homes") {
  CHECK(parse(with(llama_config(), "rope_theta", 500000)).attention[0].rotary.theta == 500000);
  const Json nested{{"rope_theta", 500000.0}, {"rope_type", "default"}};
  CHECK(parse(with(llama_config(), "rope_parameters", nested)).attention[0].rotary.theta == 500000);
  CHECK(parse(with(with(llama_config(), "rope_theta", 500000), "rope_parameters", nested))
            .attention[0]
            .rotary.theta == 500000);
  CHECK(parse(with(llama_config(), "rope_scaling", {{"type", "default"}})).attention[0].rotary.theta ==
        10000);
  CHECK(parse(with(llama_config(), "rope_scaling", nullptr)).attention[0].rotary.theta == 10000);
  CHECK_THAT(error_of(with(with(llama_config(), "rope_theta", 10000), "rope_parameters", nested)),
             Catch::Contains("rope_parameters.rope_theta is 500000"));
}

// The text is what save_pretrained() of transformers 5.24.0 writes.
TEST_CASE("config.json as transformers 5 writes it is read") {
  const std::string middle =
      R"("attention_dropout": 0.0, "bos_token_id": 0, "dtype": "float32", "eos_token_id": 1, "hidden_act": "silu",
      "hidden_size": 64, "initializer_range": 0.02, "intermediate_size": 96, "max_position_embeddings": 64,
      "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 3,
      "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "transformers_version": "5.24.0", "use_cache": true,
      "vocab_size": 400})";
  const ModelSpec llama = parse(Json::parse(
      R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "head_dim": 16, "mlp_bias": false,
      "model_type": "llama", "pretraining_tp": 1, "rope_parameters": {"factor": 8.0, "high_freq_factor": 4.0,
      "low_freq_factor": 1.0, "original_max_position_embeddings": 32, "rope_theta": 500000.0,
      "rope_type": "llama3"}, )" +
      middle));
  CHECK(llama.attention[0].rotary.theta == 500000);
  CHECK(llama.attention[0].rotary.scaling ==
        kernels::RotaryScaling{kernels::RotaryScaling::Type::llama3, 8, 1, 4, 32});
  CHECK(llama.special.eos == std::vector<std::int64_t>{1});
  const ModelSpec mistral = parse(Json::parse(
      R"({"architectures": ["MistralForCausalLM"], "head_dim": 16, "model_type": "mistral", "rope_parameters":
      {"rope_theta": 10000.0, "rope_type": "default"}, "sliding_window": 16, )" +
      middle));
  CHECK(mistral.attention[0].window == 16);
  const ModelSpec qwen2 = parse(Json::parse(
      R"({"architectures": ["Qwen2ForCausalLM"], "layer_types": ["sliding_attention", "sliding_attention"],
      "max_window_layers": 0, "model_type": "qwen2", "rope_parameters": {"rope_theta": 10000.0,
      "rope_type": "default"}, "sliding_window": 16, "use_sliding_window": true, )" +
      middle));
  CHECK(qwen2.attention[0].window == 16);
  const ModelSpec gpt2 = parse(Json::parse(
      R"({"activation_function": "gelu_new", "add_cross_attention": false, "architectures": ["GPT2LMHeadModel"],
      "attn_pdrop": 0, "bos_token_id": 1, "dtype": "float32", "embd_pdrop": 0, "eos_token_id": 1,
      "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_embd": 64, "n_head": 4,
      "n_inner": null, "n_layer": 2, "n_positions": 64, "pad_token_id": null, "reorder_and_upcast_attn": false,
      "resid_pdrop": 0, "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true,
      "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
      "summary_type": "cls_index", "summary_use_proj": true, "tie_word_embeddings": true,
      "transformers_version": "5.24.0", "use_cache": true, "vocab_size": 400})"));
  CHECK(gpt2.special.eos == std::vector<std::int64_t>{1});
}

TEST_CASE("settings that change nothing that dt computes are accepted") {
  CHECK(error_of(with(gpt2_config(), "activation_function", "gelu_pytorch_tanh")).empty());
  CHECK(error_of(with(gpt2_config(), "attn_pdrop", 0.1)).empty());
  CHECK(error_of(with(gpt2_config(), "scale_attn_weights", true)).empty());
  CHECK(error_of(with(gpt2_config(), "task_specific_params", {{"text-generation", {{"max_length", 50}}}}))
            .empty());
  CHECK(error_of(with(llama_config(), "pretraining_tp", 1)).empty());
  CHECK(error_of(with(llama_config(), "torch_dtype", "bfloat16")).empty());
}

TEST_CASE("settings that dt does not compute are refused by file, key, value and what is allowed") {
  struct Case {
    Json config;
    std::string key, value, allowed;
  };
  const Json mixed{"full_attention", "sliding_attention", "full_attention"};
  const std::vector<Case> cases{
      {with(gpt2_config(), "activation_function", "gelu"), "activation_function", "\"gelu\"", "\"gelu_new\""},
      {with(gpt2_config(), "scale_attn_weights", false), "scale_attn_weights", "false", "true"},
      {with(gpt2_config(), "scale_attn_by_inverse_layer_idx", true), "scale_attn_by_inverse_layer_idx",
       "true", "false"},
      {with(gpt2_config(), "reorder_and_upcast_attn", true), "reorder_and_upcast_attn", "true", "false"},
      {with(gpt2_config(), "add_cross_attention", true), "add_cross_attention", "true", "false"},
      {with(gpt2_config(), "quantization_config", {{"bits", 4}}), "quantization_config", "{\"bits\":4}",
       "null"},
      {with(llama_config(), "hidden_act", "gelu"), "hidden_act", "\"gelu\"", "\"silu\""},
      {with(llama_config(), "rope_scaling", with(llama3_scaling(), "rope_type", "proportional")),
       "rope_scaling.rope_type", "\"proportional\"", "\"default\", \"linear\", \"llama3\""},
      {with(llama_config(), "rope_scaling", {{"type", "dynamic"}, {"factor", 2}}), "rope_scaling.type",
       "\"dynamic\"", "\"default\""},
      {with(llama_config(), "rope_scaling", with(llama3_scaling(), "type", "linear")), "rope_scaling.type",
       "\"linear\"", "\"llama3\""},
      {with(llama_config(), "rope_scaling", with(llama3_scaling(), "high_freq_factor", 1.0)),
       "rope_scaling.high_freq_factor", "1.0", "above low_freq_factor"},
      {with(llama_config(), "rope_scaling", with(llama3_scaling(), "factor", 0)), "rope_scaling.factor", "0",
       "a number from 1e-30 to 1e+30"},
      {with(like_llama("mistral"), "layer_types", mixed), "layer_types", mixed.dump(),
       "\"sliding_attention\""},
      {with(like_llama("mistral"), "sliding_window", 0), "sliding_window", "0", "an integer from 1"},
      {with(like_llama("mistral"), "attention_bias", true), "attention_bias", "true", "false"},
      {windowed_qwen2(7, -1), "max_window_layers", "-1", "an integer from 0"},
      {with(windowed_qwen2(7, 0), "layer_types", {"full_attention", "sliding_attention"}), "layer_types",
       "[\"full_attention\",\"sliding_attention\"]",
       "\"sliding_attention\" or \"full_attention\" for each of 3"},
      {with(windowed_qwen2(7, 0), "layer_types", {"full_attention", "sliding_attention", "linear_attention"}),
       "layer_types", "[\"full_attention\"", "\"sliding_attention\" or \"full_attention\" for each of 3"},
      {with(like_llama("qwen2"), "layer_types", mixed), "layer_types", mixed.dump(), "\"full_attention\""},
      {with(like_llama("qwen2"), "use_sliding_window", "yes"), "use_sliding_window", "\"yes\"",
       "true, false"},
      {with(like_llama("qwen2"), "attention_bias", false), "attention_bias", "false", "true"},
      {with(llama_config(), "rope_scaling", "yarn"), "rope_scaling", "\"yarn\"", "an object"},
      {with(llama_config(), "rope_parameters", {{"rope_type", "axial"}}), "rope_parameters.rope_type",
       "\"axial\"", "\"default\""},
      {with(llama_config(), "partial_rotary_factor", 0.5), "partial_rotary_factor", "0.5", "1.0"},
      {with(llama_config(), "model_type", "bert"), "model_type", "\"bert\"",
       "\"gpt2\", \"llama\", \"mistral\", \"qwen2\""},
  };
  for (const Case& c : cases) {
    const std::string message = error_of(c.config);
    CHECK_THAT(message, Catch::StartsWith("model/config.json: " + c.key + " is " + c.value));
    CHECK_THAT(message, Catch::Contains("allowed: " + c.allowed));
  }
}

TEST_CASE("sizes that are missing, of another type or out of range are refused") {
  for (const Json& config : {gpt2_config(), llama_config(), like_llama("mistral"), like_llama("qwen2")}) {
    for (const auto& [key, value] : config.items()) {
      Json without = config;
      without.erase(key);
      CHECK_THAT(error_of(without), Catch::Contains(key + " is missing"));
      if (key == "model_type") continue;
      for (const Json& bad :
           {Json(0), Json(-4), Json("24"), Json(2.5), Json(true), Json(std::uint64_t{1} << 63)})
        CHECK_THAT(error_of(with(config, key, bad)), Catch::Contains(key + " is " + bad.dump()));
    }
  }
  CHECK_THAT(error_of(with(gpt2_config(), "layer_norm_epsilon", 0)),
             Catch::Contains("a number from 1e-30 to 1e+30"));
  CHECK_THAT(error_of(with(gpt2_config(), "tie_word_embeddings", 1)), Catch::Contains("true, false"));
  for (const char* key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    Json scaling = llama3_scaling();
    scaling.erase(key);
    CHECK_THAT(error_of(with(llama_config(), "rope_scaling", scaling)),
               Catch::Contains(std::string("model/config.json: rope_scaling.") + key + " is missing"));
  }
  CHECK_THAT(error_of(with(gpt2_config(), "bos_token_id", "x")), Catch::Contains("bos_token_id is \"x\""));
}

TEST_CASE("heads must divide, and rotary heads be even") {
  CHECK_THAT(error_of(with(gpt2_config(), "n_head", 5)),
             Catch::Contains("n_embd is 24 and n_head is 5; n_head must divide n_embd"));
  CHECK_THAT(error_of(with(llama_config(), "num_attention_heads", 7)),
             Catch::Contains("num_attention_heads must divide hidden_size"));
  CHECK_THAT(error_of(with(llama_config(), "num_key_value_heads", 4)),
             Catch::Contains("num_key_value_heads must divide num_attention_heads"));
  CHECK_THAT(error_of(with(llama_config(), "head_dim", 5)), Catch::Contains("(head_dim) is 5"));
  CHECK(error_of(with(with(llama_config(), "num_attention_heads", 7), "head_dim", 4)).empty());
}

TEST_CASE("sizes whose products leave int64 are refused") {
  const std::int64_t large = 2147483647;
  Json config = llama_config();
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings"})
    config[key] = large;
  config["head_dim"] = 2;
  CHECK_THAT(error_of(config), Catch::Contains("parameters; allowed: at most"));
  CHECK_THAT(error_of(with(llama_config(), "num_hidden_layers", large)),
             Catch::Contains("at most 16384 layers"));
  CHECK_THAT(error_of(with(windowed_qwen2(7, 1), "num_hidden_layers", large)),
             Catch::Contains("at most 16384 layers"));
}

TEST_CASE("what is not a JSON object is refused with its line") {
  CHECK_THAT(error_of(std::string("{\n \"model_type\": \"gpt2\",\n \"n_layer\": ,\n}")),
             Catch::StartsWith("model/config.json: line 3 is not valid JSON"));
  CHECK_THAT(error_of(std::string("")), Catch::StartsWith("model/config.json: line 1 is not valid JSON"));
  CHECK_THAT(error_of(std::string(1'000'000, '[')),
             Catch::Contains("config.json: it nests more than 100 levels deep"));
  CHECK_THAT(error_of(std::string("[1]")), Catch::Contains("object"));
}
