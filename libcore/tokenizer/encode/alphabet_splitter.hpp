#pragma once
// Splits text that ByteLevel has rewritten in the byte alphabet.

#include <memory>

#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Returns a pre-tokenizer that splits the pieces of `first` (null: the whole text) as `then` splits
/// them in the byte alphabet (see byte_alphabet.hpp). In that alphabet a space is a letter, and a part
/// of a character may be a number.
std::unique_ptr<PreTokenizer> make_alphabet_splitter(std::unique_ptr<PreTokenizer> first,
                                                     std::unique_ptr<PreTokenizer> then);

}  // namespace dt::tokenizer
