#include "base/text/utf8.hpp"

#include <cstddef>
#include <fmt/core.h>

namespace dt {

namespace {

/// Returns the digit's value, or −1 if `c` is not a capital hexadecimal digit.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool is_escape(std::string_view text) {
  return text.size() >= 4 && text[0] == '\\' && text[1] == 'x' && digit_of(text[2]) >= 0 &&
         digit_of(text[3]) >= 0;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : std::size_t{0};
  };
  const std::size_t first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte excludes overlong forms, surrogates and code points beyond U+10FFFF.
  const std::size_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::size_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < least || at(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

std::string escape_invalid_utf8(std::string_view bytes) {
  std::string utf8;
  while (!bytes.empty()) {
    const std::size_t length = is_escape(bytes) ? 0 : utf8_sequence_length(bytes);
    if (length == 0) utf8 += fmt::format("\\x{:02X}", static_cast<unsigned char>(bytes[0]));
    utf8 += bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return utf8;
}

std::string unescape_bytes(std::string_view utf8) {
  std::string bytes;
  while (!utf8.empty()) {
    const bool escaped = is_escape(utf8);
    bytes += escaped ? static_cast<char>(16 * digit_of(utf8[2]) + digit_of(utf8[3])) : utf8[0];
    utf8.remove_prefix(escaped ? 4 : 1);
  }
  return bytes;
}

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

}  // namespace dt
