#include "tokenizer/unicode/utf8.hpp"

#include <utf8proc.h>

namespace dt::tokenizer {

std::string to_utf8(char32_t code_point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  if (code_point < 0x800) return {static_cast<char>(0xC0 | code_point >> 6), tail(0)};
  if (code_point < 0x10000) return {static_cast<char>(0xE0 | code_point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

char32_t first_code_point(std::string_view text) {
  const std::size_t length = character_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  char32_t code_point = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i)
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return code_point;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code_point = 0;
    const auto rest = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - at, 4));
    const auto length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at, rest, &code_point);
    if (length <= 0) return false;
    at += static_cast<std::size_t>(length);
  }
  return true;
}

}  // namespace dt::tokenizer
