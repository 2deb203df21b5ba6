#pragma once
// Differences between the Unicode of dt's libraries and that of the tokenizers whose ids dt has to
// reproduce.

#include <cstdint>
#include <span>

namespace dt::tokenizer {

struct CategoryRange {
  char32_t first, last;
  char category[3];  // "Lu"
};

/// Returns the characters assigned after Unicode 14 and up to Unicode 16. The oldest libraries that dt
/// builds with know Unicode 14 (utf8proc: 15). Hugging Face's tokenizers and tiktoken split text by
/// Unicode 16. No other character changed between letter, number, mark, punctuation and symbol.
std::span<const CategoryRange> assigned_since_unicode_14();

/// Returns whether Hugging Face's tokenizers leave this character alone in normalization, although
/// today's Unicode would not. They normalize by Unicode 10, in which nothing is composed with it or
/// ordered around it.
bool is_new_to_normalization(char32_t code_point);

/// A character in lower case, as Hugging Face's tokenizers write it: one character, or two for U+0130.
/// `second` is 0 if there is only one. The tokenizers use the Unicode of the compiler that they were
/// built with, lately 17.
struct LowerCase {
  char32_t first, second;
};
LowerCase lower_case(char32_t code_point);

/// Returns whether Unicode 9 has this character as a mark of any kind. Hugging Face's tokenizers drop
/// accents by Unicode 9.
bool is_accent(char32_t code_point);

}  // namespace dt::tokenizer
