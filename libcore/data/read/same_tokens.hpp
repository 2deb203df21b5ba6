#pragma once
// Compares the meaning of ids between two tokenizers.

#include <string>

#include "base/io/files.hpp"

namespace dt::data {

/// Returns "" if a model's tokenizer and a dataset's tokenizer.json are the same file, or every id
/// that both have stands for the same bytes. Either may have more ids. Otherwise returns the first
/// difference: "token 5 is "a" to FILE, and "b" to OTHER". Files are dt's own or any that
/// read_tokenizer() reads.
/// Errors: input if a file cannot be read as one.
std::string token_mismatch(const fs::path& of_model, const fs::path& of_data);

}  // namespace dt::data
