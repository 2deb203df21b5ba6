#pragma once
// Where characters of UTF-8 begin and end.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Bytes of the first character of `text`, which is not empty; never beyond its end. A byte that begins none
/// is one of its own.
inline std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

/// Whether all of `text` is valid.
bool is_utf8(std::string_view text);
/// `code_point` ≤ U+10FFFF as UTF-8.
std::string to_utf8(char32_t code_point);
/// The first character of `text`, which is not empty and valid.
char32_t first_code_point(std::string_view text);

}  // namespace dt::tokenizer
