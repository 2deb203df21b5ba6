#pragma once
// The model families that dt reads and writes as Hugging Face transformers does. A family is one value
// in one file of families/, which says how its config.json looks and how its tensors are named.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/hf/config.hpp"
#include "model/model_spec.hpp"

namespace dt::model::hf {

/// A stem: the part of a name before ".weight" or ".bias" and, in blocks, after the layer's prefix. Rules
/// of the same `theirs` name one tensor, in which the parameters are stacked.
struct NameRule {
  const char* ours;
  const char* theirs;
  bool is_transposed = false;  // weights stored [input, output]
};

/// The names of a family's tensors.
struct Names {
  std::span<const NameRule> rules;
  const char* base = "model.";  // prefix of every name but the head's; files of the bare base model lack it
  const char* layers = "layers.";  // prefix of a layer's number
  /// A stacked tensor has the rows of each head's query, key and value together, head by head.
  bool groups_by_head = false;
  /// Files of a model that also sees images have the names with a prefix.
  bool may_be_wrapped = false;
};

struct Family {
  const char* model_type;
  const char* architecture;  // class that transformers loads
  /// Returns the spec. ModelSpec::family and the special tokens are the caller's.
  ModelSpec (*read)(const Config& config);
  /// Returns the members of config.json but those that all families share (see hf_config()).
  Json (*write)(const ModelSpec& spec);
  Names names;
};

/// Refuses sizes beyond any real model. Such a file has a mistake, and sums of its sizes would
/// overflow int64. Call it before a list has an entry for each layer.
void refuse_absurd_size(const ModelSpec& spec, const std::string& origin);
/// The families, in the order in which errors list them.
std::span<const Family* const> families();
/// Returns null if there is none.
const Family* find_family(const std::string& model_type);

extern const Family gpt2, llama, mistral, qwen2, qwen3, gemma2, gemma3_text, olmo2, olmo3, phi3, smollm3,
    granite, glm4, cohere2, gpt_neox, ministral, ministral3;

}  // namespace dt::model::hf
