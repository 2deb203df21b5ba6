#pragma once
// Pre-tokenizers that are regular expressions, by PCRE2's compiler to machine code.

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/pre_tokenizer.hpp"

namespace dt::tokenizer {

/// What becomes of what a pattern matches, and of what lies between: Hugging Face's names.
enum class SplitBehavior {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous,
  matches_only
};

/// `regex` as Rust's and Oniguruma's engines read it: by Unicode, $ is the text's end. With `invert` matches
/// and what lies between change roles. Errors:
/// input, where PCRE2 cannot compile it.
std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert = false);

/// Each splits the pieces of the one before it.
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters);

/// `text` with what a regular expression gives a meaning to made plain.
std::string escaped_for_regex(std::string_view text);

}  // namespace dt::tokenizer
