#pragma once
// tiktoken's regular expressions as Oniguruma's, which a tokenizer.json is written with.

#include <string>

namespace dt::tokenizer {

/// The expression of Oniguruma that matches what fancy-regex, in its default mode, reads `pattern` as:
/// classes of characters as Rust's regex has them, ^ and $ as the text's ends, {n,m}+ possessive, (?i) by
/// simple case folding. Names become numbers. Errors: input, naming the pattern, for one that fancy-regex
/// refuses, one that can match nothing, and what dt does not follow: conditions, subroutines, absent groups,
/// \K, (?R), references under (?i).
std::string regex_of_tiktoken(const std::string& pattern);

}  // namespace dt::tokenizer
