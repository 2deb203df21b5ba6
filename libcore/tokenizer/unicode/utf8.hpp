#pragma once
// Finds where characters of UTF-8 begin and end.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Returns the bytes of the first character of `text`, which is not empty. They never end beyond the
/// text. A byte that begins no character counts as one.
inline std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

/// Returns whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text);
/// Returns `code_point` ≤ U+10FFFF as UTF-8.
std::string to_utf8(char32_t code_point);
/// Returns the first character of `text`, which is valid and not empty.
char32_t first_code_point(std::string_view text);

}  // namespace dt::tokenizer
