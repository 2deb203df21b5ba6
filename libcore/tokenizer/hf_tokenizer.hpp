#pragma once
// Hugging Face's tokenizer.json, for byte-pair encodings.

#include <string>
#include <string_view>

#include "tokenizer/tokenizer.hpp"

namespace dt::tokenizer {

/// Ids are those of tokenizers' encode without special tokens added: the post-processor, truncation and
/// padding have no part in them. Errors: input, naming `origin` and the path in it: kinds of steps and models
/// that are not known, options that are not followed, merges of tokens that there are not.
Tokenizer read_hugging_face(std::string_view text, const std::string& origin);

}  // namespace dt::tokenizer
