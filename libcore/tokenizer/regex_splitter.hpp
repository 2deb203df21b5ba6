#pragma once
// Pre-tokenizers that are regular expressions.

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/split_joiner.hpp"

namespace dt::tokenizer {

/// Splits by what a regular expression of Oniguruma matches (see Regex). With `invert`, matches and what lies
/// between change roles. Where it `must_cover` text, as tiktoken's do, it is an error that it leaves some out
/// or matches nothing. Errors: input, where Oniguruma cannot compile the expression.
std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert = false, bool must_cover = false);

/// Each splits the pieces of the one before it.
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters);

/// `text` with what a regular expression gives a meaning to made plain.
std::string escaped_for_regex(std::string_view text);

}  // namespace dt::tokenizer
