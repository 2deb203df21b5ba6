#pragma once
// Which characters words are made of: \w, as Rust's regular expressions have it.

#include <string_view>

namespace dt::tokenizer {

/// Unicode's alphabetic characters, marks, decimal numbers, connectors and joiners: the inside of a set in a
/// regular expression.
extern const char* const word_characters;

/// Whether `text`, which is not empty and one character, is one of them.
bool is_word_character(std::string_view text);

}  // namespace dt::tokenizer
