#include "tokenizer/word_characters.hpp"

#include <fmt/format.h>

#include "tokenizer/regex.hpp"

namespace dt::tokenizer {

const char* const word_characters =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

bool is_word_character(std::string_view text) {
  static const Regex regex(fmt::format("[{}]", word_characters));
  return Regex::Search(regex, text).next().has_value();
}

}  // namespace dt::tokenizer
