#pragma once
// Exercises a tokenizer that was read from a file.

#include <string>

namespace dt_fuzz {

/// Reads a tokenizer.json, encodes texts with it and decodes their ids.
void use_tokenizer(const std::string& text);

}  // namespace dt_fuzz
