#pragma once
// Reads tiktoken's rank files. Each line has a token's bytes in base64 and its rank, which is its id.

#include <string>
#include <string_view>

#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

/// Returns whether `text` looks like a rank file.
bool is_tiktoken_file(std::string_view text);

/// Reads a rank file. `pattern` is a name (see scanners.hpp) or a regular expression that covers every
/// text.
/// Errors: input, naming `origin` and the line, for a line without a token and a rank, a byte
/// without a token, or an id or token that is there twice. Input, too, for an invalid pattern.
Tokenizer read_tiktoken(std::string_view text, const std::string& origin, const std::string& pattern);

/// Returns the rank file as a tokenizer.json. If pattern and number of ranks are those of a published
/// encoding, its special tokens are added with their own ids. Published encodings are r50k, p50k,
/// cl100k, o200k, Llama 3 and Qwen. `eos`, if it is neither empty nor a token yet, gets the id behind
/// all others. Ranks without a token stay ids without one.
/// Errors: as read_tiktoken().
std::string tiktoken_as_hugging_face(std::string_view text, const std::string& origin,
                                     const std::string& pattern, const std::string& eos = {});

/// Returns the regular expression that a tokenizer.json has for a pattern of tiktoken's: a known pattern's,
/// or the pattern as Oniguruma reads it.
/// Errors: see regex_of_tiktoken().
std::string regex_of_tiktoken_pattern(const std::string& pattern);

/// Returns the encoding of tokens whose ids are their ranks.
/// Errors: input if a byte has no token.
Bpe bpe_of_ranks(Vocabulary vocabulary, const std::string& origin);

}  // namespace dt::tokenizer
