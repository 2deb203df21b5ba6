#include "model/hf/hf_names.hpp"

#include "base/error.hpp"
#include "model/hf/family.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

namespace {

using hf::NameRule;
using hf::Names;

const NameRule& rule_for(const Names& names, const std::string& stem) {
  for (const NameRule& rule : names.rules) {
    if (stem == rule.ours) return rule;
  }
  throw Error(ErrorKind::internal, fmt::format("no Hugging Face name for the parameter '{}'", stem));
}

HfTensor hf_tensor(const Names& names, const ParamSpec& param) {
  std::string rest = param.name;
  std::string layer;  // with the layer's number, such as "h.3.", within a block
  if (rest.starts_with("layers.")) {
    const std::size_t behind = rest.find('.', 7) + 1;
    layer = names.layers + rest.substr(7, behind - 7);
    rest = rest.substr(behind);
  }
  const std::size_t dot = rest.rfind('.');
  const NameRule& rule = rule_for(names, rest.substr(0, dot));
  const std::string name = layer + rule.theirs + rest.substr(dot);
  if (rest.starts_with("head.")) return {name, {}, param.shape, {param.name}, false};
  const bool is_transposed = rule.is_transposed && param.shape.rank() == 2;
  return {names.base + name, {name}, param.shape, {param.name}, is_transposed};
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
  const hf::Family* const family = hf::find_family(spec.family);
  DT_CHECK(family != nullptr, "no Hugging Face names for the family '{}'", spec.family);
  const Names& names = family->names;
  const ParameterTable table(spec);
  std::vector<HfTensor> tensors;
  for (const ParamSpec& param : table.params()) {
    HfTensor tensor = hf_tensor(names, param);
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
