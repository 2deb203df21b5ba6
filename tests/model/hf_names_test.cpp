#include "model/hf/hf_names.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "base/error.hpp"
#include "model/parameter_table.hpp"

using namespace dt;
using namespace dt::model;

namespace {

HfTensor tensor_of(const ModelSpec& spec, const std::string& name) {
  for (const HfTensor& tensor : hf_tensors(spec)) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " << name);
  return {};
}

}  // namespace

TEST_CASE("every parameter is in exactly one Hugging Face tensor, and their elements are as many") {
  std::vector<ModelSpec> specs;
  for (const std::string& name : preset_names()) {
    for (const bool tied : {false, true}) {
      specs.push_back(load_model_spec(name));
      specs.back().tied = tied;
    }
  }
  specs.push_back(load_model_spec("llama-tiny"));
  specs.back().qkv_bias = specs.back().attention_output_bias = specs.back().mlp_bias = true;

  for (const ModelSpec& spec : specs) {
    const ParameterTable table(spec);
    std::map<std::string, int> names;
    std::vector<std::string> parts;
    for (const HfTensor& tensor : hf_tensors(spec)) {
      CHECK(++names[tensor.name] == 1);
      std::int64_t elements = 0;
      for (const std::string& part : tensor.params) {
        parts.push_back(part);
        elements += table.params()[static_cast<std::size_t>(table.find(part))].shape.numel();
      }
      CHECK(elements == tensor.shape.numel());
    }
    std::vector<std::string> params;
    for (const ParamSpec& param : table.params()) params.push_back(param.name);
    CHECK(parts == params);
  }
}

TEST_CASE("GPT-2 stacks q, k and v and stores [input, output]") {
  const ModelSpec spec = load_model_spec("gpt2-124m");
  const HfTensor qkv = tensor_of(spec, "transformer.h.11.attn.c_attn.weight");
  CHECK(qkv.aliases == std::vector<std::string>{"h.11.attn.c_attn.weight"});
  CHECK(qkv.shape == Shape{768, 2304});
  CHECK(qkv.transposed);
  CHECK(qkv.params == std::vector<std::string>{"layers.11.attention.q.weight", "layers.11.attention.k.weight",
                                               "layers.11.attention.v.weight"});
  const HfTensor bias = tensor_of(spec, "transformer.h.0.attn.c_attn.bias");
  CHECK(bias.shape == Shape{2304});
  CHECK_FALSE(bias.transposed);
  CHECK(tensor_of(spec, "transformer.h.0.mlp.c_fc.weight").shape == Shape{768, 3072});
  CHECK(tensor_of(spec, "transformer.h.0.mlp.c_proj.weight").shape == Shape{3072, 768});
  CHECK(tensor_of(spec, "transformer.h.0.mlp.c_proj.weight").params ==
        std::vector<std::string>{"layers.0.mlp.down.weight"});
  CHECK(tensor_of(spec, "transformer.wpe.weight").shape == Shape{1024, 768});
  CHECK(tensor_of(spec, "transformer.ln_f.bias").params == std::vector<std::string>{"final_norm.bias"});
  CHECK(hf_tensors(spec).size() == 2 + 12 * 12 + 2);
}

TEST_CASE("Llama stores matrices as dt does, the head without an alias") {
  const ModelSpec spec = load_model_spec("llama-tiny");
  const HfTensor k = tensor_of(spec, "model.layers.1.self_attn.k_proj.weight");
  CHECK(k.shape == Shape{32, 64});
  CHECK_FALSE(k.transposed);
  CHECK(k.params == std::vector<std::string>{"layers.1.attention.k.weight"});
  CHECK(tensor_of(spec, "model.layers.0.post_attention_layernorm.weight").params ==
        std::vector<std::string>{"layers.0.mlp_norm.weight"});
  CHECK(tensor_of(spec, "model.norm.weight").aliases == std::vector<std::string>{"norm.weight"});
  CHECK(tensor_of(spec, "lm_head.weight").aliases.empty());
}

TEST_CASE("Mistral and Qwen2 have Llama's names, Qwen2's biases among them") {
  const HfTensor q = tensor_of(load_model_spec("mistral-7b"), "model.layers.31.self_attn.q_proj.weight");
  CHECK(q.shape == Shape{4096, 4096});
  const ModelSpec qwen2 = load_model_spec("qwen2-0.5b");
  CHECK(tensor_of(qwen2, "model.layers.1.self_attn.k_proj.bias").shape == Shape{128});
  CHECK(hf_tensors(qwen2).size() == 1 + 24 * 12 + 1);  // 3 of a layer's 12 tensors are biases
}

TEST_CASE("a family without names is an internal error") {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.family = "rnn";
  CHECK_THROWS_AS(hf_tensors(spec), Error);
}
