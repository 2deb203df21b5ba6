#pragma once
// Hugging Face's tokenizer.json, for byte-pair encodings.

#include <string>
#include <string_view>

#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

/// Reads a tokenizer.json. Ids are those of encode() in Hugging Face's tokenizers without special
/// tokens added: the post-processor, truncation and padding have no effect.
/// Errors: input, naming `origin` and the path in it: unknown kinds of steps and models, options that
/// dt does not follow, merges of tokens that do not exist.
Tokenizer read_hugging_face(std::string_view text, const std::string& origin);

}  // namespace dt::tokenizer
