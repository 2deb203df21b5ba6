#pragma once
// Pre-tokenizers that ask of each character what it is.

#include <memory>
#include <string>

#include "tokenizer/code_point_set.hpp"
#include "tokenizer/split_joiner.hpp"

namespace dt::tokenizer {

/// Every character of the set is a match.
std::unique_ptr<PreTokenizer> make_character_splitter(const CodePointSet& set, SplitBehavior behavior);

/// Runs of characters of words and runs of others, without white space: \w+|[^\w\s]+, as Rust's regular
/// expressions read it.
std::unique_ptr<PreTokenizer> make_word_and_punctuation_splitter();

/// Every place where the text, which is not empty, is found is a match.
std::unique_ptr<PreTokenizer> make_text_splitter(std::string text, SplitBehavior behavior,
                                                 bool invert = false);

}  // namespace dt::tokenizer
