#pragma once
// Pre-tokenizers that split by regular expressions.

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/encode/split_joiner.hpp"

namespace dt::tokenizer {

/// Returns a pre-tokenizer that splits by the matches of a regular expression (see Regex). With
/// `invert`, matches and the text between them change roles. With `must_cover`, the expression must
/// match all of a text, as tiktoken's do.
/// Errors: input if Oniguruma cannot compile the expression. With `must_cover`, split() refuses an
/// expression that leaves text out or has an empty match.
std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert = false, bool must_cover = false);

/// Returns a pre-tokenizer in which each splitter splits the pieces of the one before it.
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters);

/// Returns `text` as a regular expression in which nothing is special.
std::string escaped_for_regex(std::string_view text);

}  // namespace dt::tokenizer
