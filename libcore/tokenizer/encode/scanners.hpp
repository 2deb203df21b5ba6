#pragma once
// Hand-written scanners for the patterns that most vocabularies were trained with. They find the same
// matches as the regular expressions, some hundred times faster.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/enum_names.hpp"
#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// The patterns. gpt2 is
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// llama3 is
///   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
///   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// qwen2 is llama3 with \p{N}, so that each number is a piece. cl100k, as in tiktoken, is llama3 with
/// white space at the text's end as one piece.
/// o200k is, with U for [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], l for [\p{Ll}\p{Lm}\p{Lo}\p{M}] and c for
/// llama3's first alternative,
///   [^\r\n\p{L}\p{N}]?U*l+c?|[^\r\n\p{L}\p{N}]?U+l*c?|\p{N}{1,3}|
///   ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// tekken is o200k without c and with \p{N}, so that each number is a piece.
enum class Pattern { gpt2, cl100k, llama3, qwen2, o200k, tekken };
/// The names that users write.
constexpr auto enum_names(Pattern) {
  using enum Pattern;
  return std::to_array<EnumName<Pattern>>({{"gpt2", gpt2},
                                           {"cl100k", cl100k},
                                           {"o200k", o200k},
                                           {"llama3", llama3},
                                           {"qwen2", qwen2},
                                           {"tekken", tekken}});
}

/// Returns the pattern of a regular expression, in the forms that tokenizers' files use, or none for
/// any other expression. A tokenizer.json uses Oniguruma's syntax.
std::optional<Pattern> pattern_of_regex(std::string_view regex);
/// Returns the pattern of tiktoken's regular expression, whose syntax is fancy-regex's: {1,3}+ is
/// possessive there.
std::optional<Pattern> pattern_of_tiktoken_regex(std::string_view regex);

/// Returns the pattern's regular expression, in a form that Oniguruma and Rust's engines read alike.
std::string regex_of_pattern(Pattern pattern);
/// Returns the regular expression that a user names or writes out.
std::string regex_of_text(const std::string& name_or_regex);

std::unique_ptr<PreTokenizer> make_scanner(Pattern pattern);

}  // namespace dt::tokenizer
