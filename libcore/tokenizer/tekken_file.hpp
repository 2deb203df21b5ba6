#pragma once
// Mistral's tekken.json: tiktoken's ranks, the pattern and the special tokens in one file.

#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Whether the text, a JSON object, looks like such a file.
bool is_tekken_file(std::string_view text);

/// The same as a tokenizer.json. Of the vocabulary come as many tokens as the file says that the model has;
/// their ids follow those of the special tokens, which text never holds. Errors: input, naming `origin` and
/// the path in it: what is missing or of another type, tokens that are there twice or not at all, a byte
/// without a token.
std::string tekken_as_hugging_face(std::string_view text, const std::string& origin);

}  // namespace dt::tokenizer
