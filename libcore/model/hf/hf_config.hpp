#pragma once
// Hugging Face's config.json and generation_config.json of a model.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "model/model_spec.hpp"

namespace dt::model {

inline constexpr const char* generation_config_name = "generation_config.json";

/// Returns the spec of a config.json.
/// Errors: as load_model_spec(), naming `origin`.
ModelSpec parse_hf_config(std::string_view json, const std::string& origin);
/// Returns the end-of-text ids that a Hugging Face generation_config.json names; empty if it names
/// none.
std::vector<std::int64_t> parse_generation_ends(std::string_view json, const std::string& origin);
/// Returns the config.json with which Hugging Face transformers loads the model. Its `torch_dtype`
/// is that of `weights`. parse_hf_config reads it back as an equal spec.
std::string hf_config(const ModelSpec& spec, DType weights = DType::f32);
/// Returns the generation_config.json of the model. It is `given`, the text of another such file,
/// with the model's end-of-text ids. If `given` is empty, it has only the special tokens.
/// Errors: input, naming `origin`, if `given` is no JSON object.
std::string hf_generation_config(const SpecialTokens& special, std::string_view given,
                                 const std::string& origin);

}  // namespace dt::model
