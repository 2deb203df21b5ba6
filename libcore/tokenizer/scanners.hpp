#pragma once
// The patterns that most vocabularies were trained with, written by hand: what their regular expressions
// match, one match after another, some hundred times faster.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// gpt2 is
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// and llama3
///   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
///   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// qwen2 differs from it in \p{N}, one number a piece. cl100k, as tiktoken has it, keeps white space at the
/// text's end together. o200k is, with U for [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], l for [\p{Ll}\p{Lm}\p{Lo}\p{M}]
/// and c for llama3's first alternative,
///   [^\r\n\p{L}\p{N}]?U*l+c?|[^\r\n\p{L}\p{N}]?U+l*c?|\p{N}{1,3}|
///   ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// and tekken the same without c, one number a piece.
enum class Pattern { gpt2, cl100k, llama3, qwen2, o200k, tekken };

/// By the name that users write; nothing where it is none.
std::optional<Pattern> pattern_of_name(std::string_view name);
/// By the regular expression, in the forms that tokenizers' files have it; nothing where it is another. A
/// tokenizer.json means Oniguruma's syntax.
std::optional<Pattern> pattern_of_regex(std::string_view regex);
/// The same for tiktoken, which means fancy-regex's syntax: {1,3}+ is possessive there.
std::optional<Pattern> pattern_of_tiktoken_regex(std::string_view regex);

/// As Oniguruma and Rust's engines understand it alike.
std::string regex_of_pattern(Pattern pattern);
/// The regular expression that a user names or writes out.
std::string regex_of_text(const std::string& name_or_regex);

std::unique_ptr<PreTokenizer> make_scanner(Pattern pattern);

}  // namespace dt::tokenizer
