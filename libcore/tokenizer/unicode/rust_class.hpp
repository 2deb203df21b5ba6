#pragma once
// Character classes as Rust's regex crate writes them.

#include <functional>
#include <string>
#include <string_view>

#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

/// Returns the set with every character that (?i) matches with one of the set's, by simple case
/// folding.
CodePointSet with_other_cases(const CodePointSet& set);

/// Returns the set of \p{name}. `name` has no braces; a ^ in front of it negates. `folds` ignores case
/// as (?i) does.
/// Errors: input if Rust's regex crate or dt does not know the name.
CodePointSet rust_property(std::string_view name, bool folds);

/// Returns the set of \d, \s, \w or \h, and its complement for a capital letter. Returns none for
/// any other letter.
std::optional<CodePointSet> rust_class_of_letter(char letter);

/// The meaning of an escape: a set, or else a character.
struct ClassEscape {
  std::optional<CodePointSet> set;
  char32_t code_point = 0;
};
/// Reads the escape at the current position in the text of a class, and moves the position behind it.
using ReadEscape = std::function<ClassEscape()>;

/// Reads a class in `text` from the bracket at `at`, and moves `at` behind it.
/// Errors: input if the class is invalid.
CodePointSet read_rust_class(std::string_view text, std::size_t& at, bool folds, const ReadEscape& escape);

/// Returns the set as Oniguruma writes it.
std::string oniguruma_class(const CodePointSet& set);

}  // namespace dt::tokenizer
