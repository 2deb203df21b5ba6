#pragma once
// What splits text that ByteLevel has written in the alphabet of bytes.

#include <memory>

#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Splits the pieces of `first` (null: all of the text) where `then` does what they are in the alphabet of
/// bytes (see byte_alphabet.hpp): a space is a letter there, and a part of a character may be a number.
std::unique_ptr<PreTokenizer> make_alphabet_splitter(std::unique_ptr<PreTokenizer> first,
                                                     std::unique_ptr<PreTokenizer> then);

}  // namespace dt::tokenizer
