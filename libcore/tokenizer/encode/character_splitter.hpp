#pragma once
// Pre-tokenizers that classify each character.

#include <memory>
#include <string>

#include "tokenizer/encode/split_joiner.hpp"
#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

/// Returns a pre-tokenizer whose matches are the characters of the set.
std::unique_ptr<PreTokenizer> make_character_splitter(const CodePointSet& set, SplitBehavior behavior);

/// Returns a pre-tokenizer that splits into runs of word characters and runs of others, without white
/// space: \w+|[^\w\s]+, as Rust's regex crate reads it.
std::unique_ptr<PreTokenizer> make_word_and_punctuation_splitter();

/// Returns a pre-tokenizer whose matches are the occurrences of `text`, which must not be empty.
std::unique_ptr<PreTokenizer> make_text_splitter(std::string text, SplitBehavior behavior,
                                                 bool invert = false);

}  // namespace dt::tokenizer
