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

/// Adds the names in files of a model that also sees images: those of its checkpoints, and those of
/// transformers 5.
void add_wrapped_names(const Names& names, HfTensor& tensor) {
  std::vector<std::string> plain = tensor.aliases;
  plain.insert(plain.begin(), tensor.name);
  for (const std::string& name : plain) {
    tensor.aliases.push_back("language_model." + name);
    if (name.starts_with(names.base))
      tensor.aliases.push_back("model.language_model." + name.substr(std::string_view(names.base).size()));
  }
}

const Names& names_of(const ModelSpec& spec) {
  const hf::Family* const family = hf::find_family(spec.family);
  DT_CHECK(family != nullptr, "no Hugging Face names for the family '{}'", spec.family);
  return family->names;
}

}  // namespace

std::string hf_head_name(const ModelSpec& spec) {
  return std::string(rule_for(names_of(spec), "head").theirs) + ".weight";
}

std::vector<HfTensor> hf_tensors(const ModelSpec& spec) {
  const Names& names = names_of(spec);
  const ParameterTable table(spec);
  std::vector<HfTensor> tensors;
  for (const ParamSpec& param : table.params()) {
    HfTensor tensor = hf_tensor(names, param);
    // A tied table is one tensor with two names, and some programs keep the head's.
    if (spec.tied && param.name == "embedding.token.weight") tensor.aliases.push_back(hf_head_name(spec));
    if (names.may_be_wrapped) add_wrapped_names(names, tensor);
    if (tensors.empty() || tensors.back().name != tensor.name) {
      tensors.push_back(std::move(tensor));
      continue;
    }
    append(tensors.back(), tensor);
    if (names.groups_by_head) tensors.back().groups = spec.query_heads;
  }
  for (HfTensor& tensor : tensors) {
    if (tensor.transposed) tensor.shape = Shape{tensor.shape[1], tensor.shape[0]};
  }
  return tensors;
}

}  // namespace dt::model
