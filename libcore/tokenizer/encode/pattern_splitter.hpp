#pragma once
// Pre-tokenizers that split by regular expressions.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/pre_tokenizer.hpp"
#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

// Makes pieces of a pattern's matches and of the text between them.

/// Names are those of Hugging Face's files.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Takes matches and the text between them, in order, and passes on pieces as `behavior` says. An
/// empty match separates its neighbours.
class SplitJoiner {
 public:
  /// `invert`: matches and the text between them change roles.
  SplitJoiner(SplitBehavior behavior, bool invert, PieceSink& sink)
      : behavior_(behavior), invert_(invert), sink_(sink) {}
  SplitJoiner(const SplitJoiner&) = delete;

  void add(std::string_view piece, bool is_match) {
    is_match = is_match != invert_;
    switch (behavior_) {
      case SplitBehavior::removed:
        if (!is_match) emit(piece);
        return;
      case SplitBehavior::isolated:
        return emit(piece);
      case SplitBehavior::merged_with_previous:
        return join(piece, is_match && !last_is_match_, is_match);
      case SplitBehavior::merged_with_next:
        return join(piece, last_is_match_ && !is_match, is_match);
      case SplitBehavior::contiguous:
        return join(piece, is_match == last_is_match_, is_match);
    }
  }
  /// Call after the last piece.
  void finish() {
    emit(pending_);
    pending_ = {};
    last_is_match_ = false;
  }

 private:
  void emit(std::string_view piece) {
    if (!piece.empty()) sink_.add(piece);
  }
  /// `with_held`: the piece joins the one before it, if there is one.
  void join(std::string_view piece, bool with_held, bool is_match) {
    if (with_held && pending_.data() != nullptr) {
      pending_ = std::string_view(pending_.data(), pending_.size() + piece.size());
    } else {
      emit(pending_);
      pending_ = piece;
    }
    last_is_match_ = is_match;
  }

  SplitBehavior behavior_;
  bool invert_;
  PieceSink& sink_;
  std::string_view pending_;
  bool last_is_match_ = false;
};

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

// Pre-tokenizers that classify each character.

/// Returns a pre-tokenizer whose matches are the characters of the set.
std::unique_ptr<PreTokenizer> make_character_splitter(const CodePointSet& set, SplitBehavior behavior);

/// Returns a pre-tokenizer that splits into runs of word characters and runs of others, without white
/// space: \w+|[^\w\s]+, as Rust's regex crate reads it.
std::unique_ptr<PreTokenizer> make_word_and_punctuation_splitter();

/// Returns a pre-tokenizer whose matches are the occurrences of `text`, which must not be empty.
std::unique_ptr<PreTokenizer> make_text_splitter(std::string text, SplitBehavior behavior,
                                                 bool invert = false);

}  // namespace dt::tokenizer
