#pragma once
// Finds where a long text may be cut, so that its parts can be encoded separately.

#include <cstddef>
#include <string_view>

#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

/// Returns the largest known n such that encoding text[0, n) and text[n, …) separately gives the
/// ids of encoding all of it, whatever follows `text`. Returns 0 if none is known. Tokenizers that
/// split by the known patterns (see scanners.hpp) may be cut at the last space between ASCII
/// letters.
std::size_t safe_cut(const Tokenizer& tokenizer, std::string_view text);

}  // namespace dt::tokenizer
