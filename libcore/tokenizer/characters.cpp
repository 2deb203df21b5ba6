#include "tokenizer/characters.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utf8proc.h>

namespace dt::tokenizer {

namespace {

struct Range {
  char32_t first, last;
};

/// What Unicode 15.1 and 16 added to the 15.0 of the oldest utf8proc that we build with.
constexpr Range new_letters[] = {
    {0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},   {0x105c0, 0x105f3}, {0x10d4a, 0x10d65},
    {0x10d6f, 0x10d85}, {0x10ec2, 0x10ec4}, {0x11380, 0x11389}, {0x1138b, 0x1138b}, {0x1138e, 0x1138e},
    {0x11390, 0x113b5}, {0x113b7, 0x113b7}, {0x113d1, 0x113d1}, {0x113d3, 0x113d3}, {0x11bc0, 0x11be0},
    {0x13460, 0x143fa}, {0x16100, 0x1611d}, {0x16d40, 0x16d6c}, {0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed},
    {0x1e5f0, 0x1e5f0}, {0x2ebf0, 0x2ee5d}};
constexpr Range new_numbers[] = {{0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9},
                                 {0x16130, 0x16139}, {0x16d70, 0x16d79}, {0x1ccf0, 0x1ccf9},
                                 {0x1e5f1, 0x1e5fa}};
/// Unicode's White_Space.
constexpr Range spaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                            {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                            {0x205f, 0x205f}, {0x3000, 0x3000}};

std::uint8_t class_by_category(char32_t code_point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return char_letter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return char_number;
  return char_other;
}

template <std::size_t N>
void set(std::vector<std::uint8_t>& classes, const Range (&ranges)[N], CharClass value) {
  for (const Range& range : ranges)
    std::fill(classes.begin() + range.first, classes.begin() + range.last + 1, value);
}

std::vector<std::uint8_t> all_classes(char32_t end) {
  std::vector<std::uint8_t> classes(end);
  for (char32_t c = 0; c < end; ++c) classes[c] = class_by_category(c);
  set(classes, new_letters, char_letter);
  set(classes, new_numbers, char_number);
  set(classes, spaces, char_space);
  classes['\r'] = classes['\n'] = char_newline;
  return classes;
}

}  // namespace

const CharacterTable& CharacterTable::get() {
  static const CharacterTable table;
  return table;
}

CharacterTable::CharacterTable() {
  const std::vector<std::uint8_t> classes = all_classes(end_of_unicode);
  std::map<std::string, std::uint16_t> known;  // a vector's comparison draws a false warning from gcc 12
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const auto first = classes.begin() + static_cast<std::ptrdiff_t>(i * block_size);
    const std::string block(first, first + block_size);
    const auto [found, is_new] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
    index_[i] = found->second;
  }
}

}  // namespace dt::tokenizer
