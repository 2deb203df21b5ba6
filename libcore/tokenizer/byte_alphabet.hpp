#pragma once
// The characters that byte-level tokenizers' files write bytes as: printable ones stand for themselves, the
// others for the first that are free from U+0100 on.  Source: Radford et al. 2019, GPT-2's encoder.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// The bytes that `text` writes; nothing where a character of it is not of the alphabet.
std::optional<std::string> bytes_of_alphabet(std::string_view text);
/// `bytes` written in the alphabet.
std::string in_alphabet(std::string_view bytes);
void append_in_alphabet(std::string_view bytes, std::string& text);

}  // namespace dt::tokenizer
