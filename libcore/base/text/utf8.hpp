#pragma once
// UTF-8: characters, validity, places where a text may be cut, and an encoding of any bytes as
// UTF-8. Validity is that of RFC 3629: no surrogates, no overlong forms, no unfinished character at
// the end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A byte order mark, which is skipped at the start of a text.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Returns whether the byte stands inside a character, after its first byte.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Returns the length in bytes of the valid character at the start of `text`. Returns 0 if there is
/// none.
std::size_t utf8_sequence_length(std::string_view text);

/// Returns the length in bytes of the first character of `text`, which is not empty. Examines its
/// first byte only. A byte that begins no character counts as one. The character never ends beyond
/// the text.
inline std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

/// Returns the first character of `text`, which is valid and not empty.
char32_t first_code_point(std::string_view text);
/// Returns `code_point` ≤ U+10FFFF as UTF-8.
std::string to_utf8(char32_t code_point);

/// Returns the offset of the first byte that is not valid UTF-8, or none.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);
/// Returns whether all of `text` is valid UTF-8.
bool is_valid_utf8(std::string_view text);

/// Returns the number of characters in valid UTF-8.
std::uint64_t num_characters(std::string_view text);
/// Returns the largest n ≤ text.size() at which a character may begin: the bytes after text[0, n)
/// are an unfinished character or nothing. Examines the last three bytes only.
std::size_t whole_characters(std::string_view text);

/// Returns the bytes as UTF-8, for paths and other words of a command line in texts that must be
/// UTF-8 (JSON, attributes of HDF5 files). A byte outside valid UTF-8 becomes \xHH, with two capital
/// hexadecimal digits. A backslash before "x" and two such digits becomes \x5C, so that
/// unescape_bytes() restores the input. Other bytes stay unchanged. FORMATS.md specifies the
/// encoding.
std::string escape_invalid_utf8(std::string_view bytes);
/// Returns the bytes that escape_invalid_utf8() encoded.
std::string unescape_bytes(std::string_view utf8);

}  // namespace dt
