#pragma once
// SentencePiece's precompiled_charsmap: replacement rules for strings, as in its nmt_nfkc.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/normalizer.hpp"

namespace dt::tokenizer {

/// Returns whether a rule applies to text that begins with `byte`. `charsmap` is one that
/// make_charsmap_normalizer() accepts.
bool has_rules_for(std::string_view charsmap, char byte);
/// Returns whether a string may become two or more spaces in a row, alone or with other text.
bool makes_runs_of_spaces(std::string_view charsmap);

/// Returns a normalizer that replaces, from left to right, the longest string that has a rule.
/// Strings of `kept` and characters without a rule stay. At each position the longest string of `kept`
/// takes precedence over the rules. This follows sentencepiece. Hugging Face's tokenizers first look
/// for rules of whole grapheme clusters, which differs for some text.
/// `charsmap` holds the size of a trie in bytes (4 bytes, little endian), the trie, and the replacement
/// texts. Each text ends with a zero byte; the trie's values are offsets of texts.
/// Errors: input if the charsmap is invalid.
/// Source: sentencepiece's normalizer.cc. The trie is a double array as darts-clone writes it.
std::unique_ptr<Normalizer> make_charsmap_normalizer(std::string charsmap,
                                                     const std::vector<std::string>& kept);

}  // namespace dt::tokenizer
