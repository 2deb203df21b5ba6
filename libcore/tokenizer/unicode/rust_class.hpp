#pragma once
// Character classes and escapes as Rust's regex crate writes them, and their form in Oniguruma's syntax.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

/// Returns the set with every character that (?i) matches with one of the set's, by simple case
/// folding.
CodePointSet with_other_cases(const CodePointSet& set);

/// The meaning of an escape: a set, or else a character.
struct ClassEscape {
  std::optional<CodePointSet> set;
  char32_t code_point = 0;
};
/// Reads an escape in `text` from the backslash at `at`, and moves `at` behind it. The escape is one of those
/// that may stand in brackets.
/// Errors: input if the escape is invalid or dt does not follow it.
ClassEscape read_rust_escape(std::string_view text, std::size_t& at, bool folds);

/// Reads a class in `text` from the bracket at `at`, and moves `at` behind it.
/// Errors: input if the class is invalid.
CodePointSet read_rust_class(std::string_view text, std::size_t& at, bool folds);

/// Returns a character or a set as Oniguruma writes it outside brackets.
std::string oniguruma_character(char32_t code_point);
std::string oniguruma_class(const CodePointSet& set);

}  // namespace dt::tokenizer
