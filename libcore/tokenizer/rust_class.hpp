#pragma once
// Classes of characters as Rust's regular expressions write them.

#include <functional>
#include <string>
#include <string_view>

#include "tokenizer/code_point_set.hpp"

namespace dt::tokenizer {

/// With every character that (?i) takes for one of the set's, by simple case folding.
CodePointSet with_other_cases(const CodePointSet& set);

/// The set of \p{name}, name without braces; a ^ in front of it negates. `folds` as (?i) does.
/// Errors: input, where Rust's regex knows no such name or dt does not.
CodePointSet rust_property(std::string_view name, bool folds);

/// The set of \d, \s, \w, \h, or of the complement for capital letters; nothing for another letter.
std::optional<CodePointSet> rust_class_of_letter(char letter);

/// What an escape stands for: a set, or else a character.
struct ClassEscape {
  std::optional<CodePointSet> set;
  char32_t code_point = 0;
};
/// Reads the escape at `at` of the text that a class is read from, and moves it behind.
using ReadEscape = std::function<ClassEscape()>;

/// Reads a class in `text` from the bracket at `at`, and moves `at` behind it.
/// Errors: input, where it is none.
CodePointSet read_rust_class(std::string_view text, std::size_t& at, bool folds, const ReadEscape& escape);

/// As Oniguruma writes it.
std::string oniguruma_class(const CodePointSet& set);

}  // namespace dt::tokenizer
