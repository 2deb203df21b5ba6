#pragma once
// Makes pieces of a pattern's matches and of the text between them.

#include <string_view>

#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt::tokenizer {

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

}  // namespace dt::tokenizer
