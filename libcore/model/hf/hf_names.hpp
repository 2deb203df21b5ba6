#pragma once
// Names and layouts of each family's tensors in Hugging Face transformers.

#include <string>
#include <vector>

#include "model/model_spec.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// One tensor of a Hugging Face model: dt's parameters stacked along their output features (dim 0), then
/// transposed where the family stores [input, output] (GPT-2's Conv1D).
struct HfTensor {
  std::string name;                  // name that save_pretrained writes
  std::vector<std::string> aliases;  // other names that files use, in the order in which readers try them
  Shape shape;                       // shape in Hugging Face's file
  std::vector<std::string> params;   // names of dt's parameters
  bool transposed = false;
};

/// The output projection's name in every family.
inline constexpr const char* hf_head_name = "lm_head.weight";

/// Returns every tensor of the family's model in the order of the parameter table. A tied head is
/// not repeated.
std::vector<HfTensor> hf_tensors(const ModelSpec& spec);

}  // namespace dt::model
