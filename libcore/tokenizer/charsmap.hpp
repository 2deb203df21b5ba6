#pragma once
// SentencePiece's precompiled_charsmap: rules that say what strings become, for its nmt_nfkc and others.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/normalizer.hpp"

namespace dt::tokenizer {

/// Whether a rule is about text that begins with `byte`. `charsmap` is one that make_charsmap_normalizer
/// takes.
bool has_rules_for(std::string_view charsmap, char byte);
/// Whether a string may become two or more spaces in a row, alone or with other text.
bool makes_runs_of_spaces(std::string_view charsmap);

/// From left to right, the longest string that has a rule becomes what the rule says; a string of `kept`, of
/// which the longest goes first, and every other character stays. This is sentencepiece's understanding;
/// Hugging Face's tokenizers ask for rules of whole grapheme clusters first, which differs for some. Errors:
/// input, a charsmap that is none.
///
/// `charsmap` is the size of a trie in bytes (4 bytes, little endian), the trie, and the texts that strings
/// become, each ended by a zero byte; the trie's values are where in these.  Source: sentencepiece's
/// normalizer.cc; the trie is a double array as darts-clone writes it.
std::unique_ptr<Normalizer> make_charsmap_normalizer(std::string charsmap,
                                                     const std::vector<std::string>& kept);

}  // namespace dt::tokenizer
