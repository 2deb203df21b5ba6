#include "model/hf/hf_names.hpp"

#include <array>
#include <span>

#include "base/error.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

namespace {

/// A stem: the part of a name before ".weight" or ".bias" and, in blocks, after the layer's prefix.
struct Rule {
  const char* ours;
  const char* theirs;
  bool transposed;  // weights stored [input, output]
};

struct Family {
  std::span<const Rule> rules;
  const char* base;    // prefix of every name but the head's; files of the bare base model lack it
  const char* layers;  // prefix of a layer's number
};

constexpr std::array gpt2_rules{Rule{"embedding.token", "wte", false},
                                Rule{"embedding.position", "wpe", false},
                                Rule{"attention_norm", "ln_1", false},
                                Rule{"attention.q", "attn.c_attn", true},
                                Rule{"attention.k", "attn.c_attn", true},
                                Rule{"attention.v", "attn.c_attn", true},
                                Rule{"attention.output", "attn.c_proj", true},
                                Rule{"mlp_norm", "ln_2", false},
                                Rule{"mlp.up", "mlp.c_fc", true},
                                Rule{"mlp.down", "mlp.c_proj", true},
                                Rule{"final_norm", "ln_f", false},
                                Rule{"head", "lm_head", false}};

constexpr std::array llama_rules{Rule{"embedding.token", "embed_tokens", false},
                                 Rule{"attention_norm", "input_layernorm", false},
                                 Rule{"attention.q", "self_attn.q_proj", false},
                                 Rule{"attention.k", "self_attn.k_proj", false},
                                 Rule{"attention.v", "self_attn.v_proj", false},
                                 Rule{"attention.output", "self_attn.o_proj", false},
                                 Rule{"mlp_norm", "post_attention_layernorm", false},
                                 Rule{"mlp.gate", "mlp.gate_proj", false},
                                 Rule{"mlp.up", "mlp.up_proj", false},
                                 Rule{"mlp.down", "mlp.down_proj", false},
                                 Rule{"final_norm", "norm", false},
                                 Rule{"head", "lm_head", false}};

Family family_of(const ModelSpec& spec) {
  if (spec.family == "gpt2") return {gpt2_rules, "transformer.", "h."};
  for (const char* llama_like : {"llama", "mistral", "qwen2"}) {
    if (spec.family == llama_like) return {llama_rules, "model.", "layers."};
  }
  throw Error(ErrorKind::internal, fmt::format("no Hugging Face names for the family '{}'", spec.family));
}

const Rule& rule_for(const Family& family, const std::string& stem) {
  for (const Rule& rule : family.rules) {
    if (stem == rule.ours) return rule;
  }
  throw Error(ErrorKind::internal, fmt::format("no Hugging Face name for the parameter '{}'", stem));
}

HfTensor hf_tensor(const Family& family, const ParamSpec& param) {
  std::string rest = param.name;
  std::string layer;  // with the layer's number, such as "h.3.", within a block
  if (rest.starts_with("layers.")) {
    const std::size_t behind = rest.find('.', 7) + 1;
    layer = family.layers + rest.substr(7, behind - 7);
    rest = rest.substr(behind);
  }
  const std::size_t dot = rest.rfind('.');
  const Rule& rule = rule_for(family, rest.substr(0, dot));
  const std::string name = layer + rule.theirs + rest.substr(dot);
  if (rest.starts_with("head.")) return {name, {}, param.shape, {param.name}, false};
  const bool is_transposed = rule.transposed && param.shape.rank() == 2;
  return {family.base + name, {name}, param.shape, {param.name}, is_transposed};
}

/// Appends `more` below the tensor's parts.
void append(HfTensor& tensor, const HfTensor& more) {
  std::vector<std::int64_t> dims = tensor.shape.dims();
  dims[0] += more.shape[0];
  tensor.shape = Shape(dims);
  tensor.params.push_back(more.params.front());
}

}  // namespace

std::vector<HfTensor> hf_tensors(const ModelSpec& spec) {
  const Family family = family_of(spec);
  const ParameterTable table(spec);
  std::vector<HfTensor> tensors;
  for (const ParamSpec& param : table.params()) {
    HfTensor tensor = hf_tensor(family, param);
    // A tied table is one tensor with two names, and some programs keep the head's.
    if (spec.tied && param.name == "embedding.token.weight") tensor.aliases.push_back(hf_head_name);
    if (!tensors.empty() && tensors.back().name == tensor.name)
      append(tensors.back(), tensor);
    else
      tensors.push_back(std::move(tensor));
  }
  for (HfTensor& tensor : tensors) {
    if (tensor.transposed) tensor.shape = Shape{tensor.shape[1], tensor.shape[0]};
  }
  return tensors;
}

}  // namespace dt::model
