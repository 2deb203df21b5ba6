#pragma once
// Mistral's tekken.json: tiktoken's ranks, the pattern and the special tokens in one file.

#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Returns whether `text`, a JSON object, looks like a tekken.json.
bool is_tekken_file(std::string_view text);

/// Returns the file as a tokenizer.json. It has as many tokens of the vocabulary as the file says that
/// the model has. Their ids follow those of the special tokens, which text never contains.
/// Errors: input, naming `origin` and the path in it: missing members or wrong types; tokens that are
/// there twice or not at all; a byte without a token.
std::string tekken_as_hugging_face(std::string_view text, const std::string& origin);

}  // namespace dt::tokenizer
