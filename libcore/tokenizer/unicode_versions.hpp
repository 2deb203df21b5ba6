#pragma once
// Where the libraries that we build with know another Unicode than the tokenizers that we are to equal.

#include <cstdint>
#include <span>

namespace dt::tokenizer {

struct CategoryRange {
  char32_t first, last;
  char category[3];  // "Lu"
};

/// What was assigned after Unicode 14, which the oldest libraries that dt builds with know (utf8proc: 15), up
/// to 16, which Hugging Face's tokenizers and tiktoken split text by. No other character changed between
/// letter, number, mark, punctuation and symbol.
std::span<const CategoryRange> assigned_since_unicode_14();

/// Hugging Face's tokenizers normalise by Unicode 10. Whether they leave this character alone, as one that
/// nothing is composed with or ordered around, where today's Unicode would not.
bool is_new_to_normalization(char32_t code_point);

/// They write letters small by the Unicode of the compiler that they were built with, lately 17: one
/// character, or for U+0130 two; `second` is 0 where there is none.
struct LowerCase {
  char32_t first, second;
};
LowerCase lower_case(char32_t code_point);

/// They drop accents by Unicode 9: whether it has this character as a mark of any kind.
bool is_accent(char32_t code_point);

}  // namespace dt::tokenizer
