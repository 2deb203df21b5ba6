#pragma once
// Character classes for pre-tokenizers: letters, numbers, white space. They follow Unicode 16, as
// Hugging Face's tokenizers and tiktoken do.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text/utf8.hpp"

namespace dt::tokenizer {

/// Each class is one bit, so that one test covers several classes.
enum CharClass : std::uint8_t {
  char_other = 1,
  char_letter = 2,      // \p{L}; by_case() has the next four instead
  char_upper = 32,      // \p{Lu} and \p{Lt}
  char_lower = 64,      // \p{Ll}
  char_caseless = 128,  // \p{Lm} and \p{Lo}
  char_mark = 2,        // \p{M}; get() has char_other instead
  char_number = 4,      // \p{N}
  char_space = 8,       // \s without \r and \n
  char_newline = 16     // \r and \n
};

inline constexpr std::uint8_t char_whitespace = char_space | char_newline;

struct Character {
  std::uint8_t char_class;
  std::uint8_t length;  // in bytes
};

class CharacterTable {
 public:
  /// Returns the shared table. The first call makes it, which takes some milliseconds.
  static const CharacterTable& get();
  /// Returns the shared table that tells letters by case, and marks.
  static const CharacterTable& by_case();

  std::uint8_t of_ascii(unsigned char byte) const { return blocks_[byte]; }
  std::uint8_t of(char32_t code_point) const {
    return blocks_[index_[code_point / block_size] * block_size + code_point % block_size];
  }
  /// Returns the character at `text`, which is not empty and ends at `end`. A byte that begins no
  /// character is a char_other by itself.
  Character at(const char* text, const char* end) const {
    const auto first = static_cast<unsigned char>(*text);
    if (first < 0x80) return {of_ascii(first), 1};
    return beyond_ascii(text, end);
  }

 private:
  static constexpr char32_t block_size = 128, end_of_unicode = 0x110000;
  explicit CharacterTable(const std::vector<std::uint8_t>& classes);
  Character beyond_ascii(const char* text, const char* end) const;
  std::array<std::uint16_t, end_of_unicode / block_size> index_;
  std::vector<std::uint8_t> blocks_;  // all different; the first is ASCII
};

inline Character CharacterTable::beyond_ascii(const char* text, const char* end) const {
  const auto byte = [&](int i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](int i) { return i < end - text && continues_character(text[i]); };
  const auto low = [&](int i) { return static_cast<char32_t>(byte(i) & 0x3F); };
  const char32_t first = byte(0);
  if (first < 0xE0) {
    if (first >= 0xC2 && continues(1)) return {of((first & 0x1F) << 6 | low(1)), 2};
  } else if (first < 0xF0) {
    if (continues(1) && continues(2)) return {of((first & 0xF) << 12 | low(1) << 6 | low(2)), 3};
  } else if (continues(1) && continues(2) && continues(3)) {
    const char32_t code_point = (first & 7) << 18 | low(1) << 12 | low(2) << 6 | low(3);
    if (code_point < end_of_unicode) return {of(code_point), 4};
  }
  return {char_other, 1};
}

}  // namespace dt::tokenizer
