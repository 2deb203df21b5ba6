#include "tokenizer/unicode/characters.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utf8proc.h>

#include "tokenizer/unicode/unicode_versions.hpp"

namespace dt::tokenizer {

namespace {

struct Range {
  char32_t first, last;
};

/// Unicode's White_Space.
constexpr Range spaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                            {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                            {0x205f, 0x205f}, {0x3000, 0x3000}};

/// Returns the class of one of Unicode's categories.
CharClass class_of(std::string_view category) {
  return category[0] == 'L' ? char_letter : category[0] == 'N' ? char_number : char_other;
}

CharClass class_by_case(std::string_view category) {
  if (category[0] == 'M') return char_mark;
  if (category[0] != 'L') return class_of(category);
  return category[1] == 'l'                         ? char_lower
         : category[1] == 'u' || category[1] == 't' ? char_upper
                                                    : char_caseless;
}

void set(std::vector<std::uint8_t>& classes, char32_t first, char32_t last, CharClass value) {
  std::fill(classes.begin() + first, classes.begin() + last + 1, value);
}

std::vector<std::uint8_t> all_classes(char32_t end, CharClass (*of_category)(std::string_view)) {
  std::vector<std::uint8_t> classes(end);
  for (char32_t c = 0; c < end; ++c)
    classes[c] = of_category(utf8proc_category_string(static_cast<utf8proc_int32_t>(c)));
  for (const CategoryRange& range : assigned_since_unicode_14())
    set(classes, range.first, range.last, of_category(range.category));
  for (const Range& range : spaces) set(classes, range.first, range.last, char_space);
  classes['\r'] = classes['\n'] = char_newline;
  return classes;
}

}  // namespace

const CharacterTable& CharacterTable::get() {
  static const CharacterTable table(all_classes(end_of_unicode, class_of));
  return table;
}

const CharacterTable& CharacterTable::by_case() {
  static const CharacterTable table(all_classes(end_of_unicode, class_by_case));
  return table;
}

CharacterTable::CharacterTable(const std::vector<std::uint8_t>& classes) {
  std::map<std::string, std::uint16_t> known;  // comparing vectors draws a false warning from gcc 12
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const auto first = classes.begin() + static_cast<std::ptrdiff_t>(i * block_size);
    const std::string block(first, first + block_size);
    const auto [found, is_new] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
    index_[i] = found->second;
  }
}

}  // namespace dt::tokenizer
