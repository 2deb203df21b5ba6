#include "base/text/utf8.hpp"

#include <algorithm>
#include <cstring>
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

/// Returns how many bytes from `offset` on are ASCII, in steps of eight. The caller checks the last
/// few.
std::size_t ascii_run(std::string_view text, std::size_t offset) {
  const std::size_t begin = offset;
  std::uint64_t word = 0;
  for (; offset + sizeof(word) <= text.size(); offset += sizeof(word)) {
    std::memcpy(&word, text.data() + offset, sizeof(word));
    if ((word & 0x8080808080808080) != 0) break;
  }
  return offset - begin;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xE0) return text.size() >= 2 && first >= 0xC2 && continues_character(text[1]) ? 2 : 0;
  // The second byte excludes overlong forms, surrogates and code points beyond U+10FFFF.
  if (first < 0xF0) {
    if (text.size() < 3 || !continues_character(text[1]) || !continues_character(text[2])) return 0;
    return (first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) > 0x9F) ? 0 : 3;
  }
  if (text.size() < 4 || !continues_character(text[1]) || !continues_character(text[2]) ||
      !continues_character(text[3]))
    return 0;
  return first > 0xF4 || (first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) > 0x8F) ? 0 : 4;
}

char32_t first_code_point(std::string_view text) {
  const std::size_t length = character_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  char32_t code_point = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i)
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return code_point;
}

std::string to_utf8(char32_t code_point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  if (code_point < 0x800) return {static_cast<char>(0xC0 | code_point >> 6), tail(0)};
  if (code_point < 0x10000) return {static_cast<char>(0xE0 | code_point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      offset += std::max<std::size_t>(1, ascii_run(text, offset));
      continue;
    }
    const std::size_t length = utf8_sequence_length(text.substr(offset));
    if (length == 0) return offset;
    offset += length;
  }
  return std::nullopt;
}

bool is_valid_utf8(std::string_view text) {
  return !find_invalid_utf8(text);
}

std::uint64_t num_characters(std::string_view text) {
  constexpr std::size_t block = 255;  // fits an 8-bit counter, so that a vector register counts many at once
  std::uint64_t count = 0;
  for (; !text.empty(); text.remove_prefix(std::min(block, text.size()))) {
    std::uint8_t in_block = 0;
    for (const char byte : text.substr(0, block)) in_block += continues_character(byte) ? 0 : 1;
    count += in_block;
  }
  return count;
}

std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const char byte = text[text.size() - back];
    if (continues_character(byte)) continue;
    const auto first = static_cast<unsigned char>(byte);
    const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
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

}  // namespace dt
