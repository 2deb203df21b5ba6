#pragma once
// Normalizers that change each character by itself.

#include <memory>

#include "tokenizer/normalizer.hpp"

namespace dt::tokenizer {

/// Turns each character into what lower_case() says, whatever stands beside it.
std::unique_ptr<Normalizer> make_lowercase();
/// Removes marks (see is_accent). A letter that is one character with its mark stays.
std::unique_ptr<Normalizer> make_strip_accents();

}  // namespace dt::tokenizer
