#pragma once
// Translates tiktoken's regular expressions into Oniguruma's syntax, which a tokenizer.json has.

#include <string>

namespace dt::tokenizer {

/// Returns the expression with which Oniguruma matches what fancy-regex, in its default mode, matches
/// with `pattern`. Character classes are those of Rust's regex crate. ^ and $ are the text's ends,
/// {n,m}+ is possessive, and (?i) uses simple case folding. Names become numbers.
/// Errors: input, naming the pattern: one that fancy-regex refuses, one that can match the empty
/// text, and one with constructs that dt does not follow: conditions, subroutines, absent groups,
/// \K, (?R), references under (?i).
std::string regex_of_tiktoken(const std::string& pattern);

}  // namespace dt::tokenizer
