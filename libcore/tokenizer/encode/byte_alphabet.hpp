#pragma once
// The byte alphabet: the characters that stand for bytes in files of byte-level tokenizers. A printable
// byte stands for itself. The others take the first free code points from U+0100 on. Steps behind ByteLevel
// split text that is written in the alphabet.
// Source: Radford et al. 2019, GPT-2's encoder.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// Returns the bytes that `text` stands for, or none if `text` has a character outside the alphabet.
std::optional<std::string> bytes_of_alphabet(std::string_view text);
/// Returns `bytes` written in the alphabet.
std::string in_alphabet(std::string_view bytes);
void append_in_alphabet(std::string_view bytes, std::string& text);

/// Returns a pre-tokenizer that splits the pieces of `first` (null: the whole text) as `then` splits
/// them once ByteLevel has written them in the byte alphabet. In that alphabet a space is a letter, and a
/// part of a character may be a number.
std::unique_ptr<PreTokenizer> make_alphabet_splitter(std::unique_ptr<PreTokenizer> first,
                                                     std::unique_ptr<PreTokenizer> then);

}  // namespace dt::tokenizer
