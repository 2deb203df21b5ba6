#pragma once
// Normalizers that change each character by itself.

#include <memory>

#include "tokenizer/normalizer.hpp"

namespace dt::tokenizer {

/// Each character becomes what lower_case() says, whatever stands beside it.
std::unique_ptr<Normalizer> make_lowercase();
/// Marks go (see is_accent); a letter that is one character with its mark stays.
std::unique_ptr<Normalizer> make_strip_accents();

}  // namespace dt::tokenizer
