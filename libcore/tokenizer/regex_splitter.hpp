#pragma once
// Pre-tokenizers that split by regular expressions.

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/split_joiner.hpp"

namespace dt::tokenizer {

/// Splits by the matches of a regular expression (see Regex). `invert`: matches and the text between
/// them change roles. `must_cover`: the expression has to match all of a text, as tiktoken's do.
/// Errors: input, an expression that Oniguruma cannot compile. With `must_cover`, split() refuses an
/// expression that leaves text out or has an empty match.
std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert = false, bool must_cover = false);

/// Lets each splitter split the pieces of the one before it.
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters);

/// Returns `text` as a regular expression in which nothing is special.
std::string escaped_for_regex(std::string_view text);

}  // namespace dt::tokenizer
