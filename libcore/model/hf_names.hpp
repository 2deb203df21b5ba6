#pragma once
// How Hugging Face transformers names and lays out each family's tensors.

#include <string>
#include <vector>

#include "model/model_spec.hpp"
#include "tensor/shape.hpp"

namespace dt::model {

/// One tensor of a Hugging Face model: dt's parameters stacked along their output features (dim 0), then
/// transposed where the family stores [input, output] (GPT-2's Conv1D).
struct HfTensor {
  std::string name;                  // as save_pretrained writes it
  std::vector<std::string> aliases;  // other names under which files hold it, in the order of looking
  Shape shape;                       // as stored there
  std::vector<std::string> parts;    // dt parameter names
  bool transposed = false;
};

/// The output projection's name in every family.
inline constexpr const char* hf_head_name = "lm_head.weight";

/// Every tensor of the family's model, in the order of the parameter table; a tied head is not repeated.
std::vector<HfTensor> hf_tensors(const ModelSpec& spec);

}  // namespace dt::model
