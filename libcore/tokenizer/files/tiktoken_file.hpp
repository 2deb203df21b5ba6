#pragma once
// Files of ranks, and the tokenizer.json that each becomes. Each line of tiktoken's rank file has a token's
// bytes in base64 and its rank, which is its id. Mistral's tekken.json has tiktoken's ranks, the pattern and
// the special tokens. Patterns are tiktoken's regular expressions, which are translated for Oniguruma.

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

/// Returns the encoding of tokens whose ids are their ranks.
/// Errors: input if a byte has no token.
Bpe bpe_of_ranks(Vocabulary vocabulary, const std::string& origin);

/// Returns whether `text`, a JSON object, looks like a tekken.json.
bool is_tekken_file(std::string_view text);

/// Returns the file as a tokenizer.json. It has as many tokens of the vocabulary as the file says that
/// the model has. Their ids follow those of the special tokens, which text never contains.
/// Errors: input, naming `origin` and the path in it: missing members or wrong types; tokens that are
/// there twice or not at all; a byte without a token.
std::string tekken_as_hugging_face(std::string_view text, const std::string& origin);

/// Translates tiktoken's regular expressions into Oniguruma's syntax, which a tokenizer.json has. Returns the
/// expression with which Oniguruma matches what fancy-regex, in its default mode, matches with `pattern`.
/// Character classes are those of Rust's regex crate. ^ and $ are the text's ends, {n,m}+ is possessive, and
/// (?i) uses simple case folding. Names become numbers.
/// Errors: input, naming the pattern: one that fancy-regex refuses, one that can match the empty
/// text, and one with constructs that dt does not follow: conditions, subroutines, absent groups,
/// \K, (?R), references under (?i).
std::string regex_of_tiktoken(const std::string& pattern);

}  // namespace dt::tokenizer
