#pragma once
// The byte alphabet: the characters that stand for bytes in files of byte-level tokenizers. A printable
// byte stands for itself. The others take the first free code points from U+0100 on.
// Source: Radford et al. 2019, GPT-2's encoder.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Returns the bytes that `text` stands for, or none if `text` has a character outside the alphabet.
std::optional<std::string> bytes_of_alphabet(std::string_view text);
/// Returns `bytes` written in the alphabet.
std::string in_alphabet(std::string_view bytes);
void append_in_alphabet(std::string_view bytes, std::string& text);

}  // namespace dt::tokenizer
