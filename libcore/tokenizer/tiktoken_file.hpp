#pragma once
// tiktoken's rank files: a line a token, its bytes in base64 and its rank, which is its id.

#include <string>
#include <string_view>

#include "tokenizer/tokenizer.hpp"

namespace dt::tokenizer {

/// Whether the text looks like such a file.
bool is_tiktoken_file(std::string_view text);

/// `pattern` is a name (see scanners.hpp) or a regular expression; what it does not match is dropped, as
/// tiktoken does. Errors: input, naming `origin` and the line: what is no token and rank, a byte without a
/// token, an id or token that is there twice; a pattern that is none.
Tokenizer read_tiktoken(std::string_view text, const std::string& origin, const std::string& pattern);

/// The same as a tokenizer.json. Where pattern and number of ranks are those of a published encoding (r50k,
/// p50k, cl100k, o200k, Llama 3, Qwen), its special tokens come with their own ids. `eos`, where it is not ""
/// and no token yet, comes with the id behind all others. Ranks without a token stay ids without one. Errors:
/// as read_tiktoken.
std::string tiktoken_as_hugging_face(std::string_view text, const std::string& origin,
                                     const std::string& pattern, const std::string& eos = {});

/// What a tokenizer.json says for a pattern of tiktoken's: a known one's regular expression, or the pattern
/// as Oniguruma reads it. Errors: see regex_of_tiktoken.
std::string regex_of_tiktoken_pattern(const std::string& pattern);

/// The encoding of tokens whose ids say which goes first. Errors: input, a byte without a token.
Bpe bpe_of_ranks(Vocabulary vocabulary, const std::string& origin);

}  // namespace dt::tokenizer
