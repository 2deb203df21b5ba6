#pragma once
// Where a long text may be cut and its parts be encoded apart.

#include <cstddef>
#include <string_view>

#include "tokenizer/tokenizer.hpp"

namespace dt::tokenizer {

/// The largest n that is known such that encoding text[0, n) and text[n, …) apart gives the ids of encoding
/// all of it, whatever follows `text`; 0 where none is. For tokenizers that split by the known patterns (see
/// scanners.hpp) it is the last space between letters of ASCII.
std::size_t safe_cut(const Tokenizer& tokenizer, std::string_view text);

}  // namespace dt::tokenizer
