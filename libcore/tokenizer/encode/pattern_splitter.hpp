#pragma once
// Pre-tokenizers that split by matches: of a regular expression, of a set of characters, or of a text. The
// pieces are made of the matches and of the text between them, as by Hugging Face's Split.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/pre_tokenizer.hpp"
#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

struct Bpe;

/// The pieces that matches and the text between them become. Names are those of Hugging Face's files.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Returns a pre-tokenizer that splits by the matches of a regular expression (see Regex). With
/// `invert`, matches and the text between them change roles. With `must_cover`, the expression must
/// match all of a text, as tiktoken's do.
/// Errors: input if Oniguruma cannot compile the expression. With `must_cover`, split() refuses an
/// expression that leaves text out or has an empty match.
std::unique_ptr<PreTokenizer> make_regex_splitter(const std::string& regex, SplitBehavior behavior,
                                                  bool invert = false, bool must_cover = false);

/// Returns `text` as a regular expression in which nothing is special.
std::string escaped_for_regex(std::string_view text);

/// Returns a pre-tokenizer whose matches are the characters of the set.
std::unique_ptr<PreTokenizer> make_character_splitter(const CodePointSet& set, SplitBehavior behavior);

/// Returns a pre-tokenizer that splits into runs of word characters and runs of others, without white
/// space: \w+|[^\w\s]+, as Rust's regex crate reads it.
std::unique_ptr<PreTokenizer> make_word_and_punctuation_splitter();

/// Returns a pre-tokenizer whose matches are the occurrences of `text`, which must not be empty.
std::unique_ptr<PreTokenizer> make_text_splitter(std::string text, SplitBehavior behavior,
                                                 bool invert = false);

/// Returns a pre-tokenizer for a tokenizer that has none, so that its texts need not be merged as a whole. It
/// splits before each run of U+2581, SentencePiece's space. The ids stay the same, since no merge of `bpe`
/// joins such a run with text before it. Returns null if a merge does, if `bpe` takes whole pieces, or if
/// U+2581 is no token.
std::unique_ptr<PreTokenizer> make_word_splitter(const Bpe& bpe);

/// Returns a pre-tokenizer in which each splitter splits the pieces of the one before it.
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> splitters);

}  // namespace dt::tokenizer
