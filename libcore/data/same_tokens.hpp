#pragma once
// Whether two tokenizers give ids the same meaning.

#include <string>

#include "base/files.hpp"

namespace dt::data {

/// "" where a model's tokenizer and a dataset's tokenizer.json are one file, or each id that both have stands
/// for the same bytes, though either may have more; else the first that does not: "token 5 is "a" to FILE,
/// and "b" to OTHER". Files are dt's own or any that read_tokenizer takes. Errors: input, one that it does
/// not.
std::string why_other_tokens(const fs::path& of_model, const fs::path& of_data);

}  // namespace dt::data
