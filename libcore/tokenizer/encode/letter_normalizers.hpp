#pragma once
// Normalizers that change each character by itself.

#include <memory>

#include "tokenizer/encode/normalizer.hpp"

namespace dt::tokenizer {

/// Returns a normalizer that replaces each character by lower_case() of it, whatever stands beside
/// it.
std::unique_ptr<Normalizer> make_lowercase();
/// Returns a normalizer that removes marks (see is_accent). A letter that is one character with its
/// mark stays.
std::unique_ptr<Normalizer> make_strip_accents();

}  // namespace dt::tokenizer
