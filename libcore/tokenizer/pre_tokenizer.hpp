#pragma once
// Text into pieces that tokens do not cross: words, numbers, punctuation, spaces.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace dt::tokenizer {

/// Takes pieces as they are found, and hands them on some hundred at a time.
class PieceSink {
 public:
  static constexpr std::size_t max_pieces = 256;
  virtual ~PieceSink() = default;
  void add(std::string_view piece) {
    pieces_[count_++] = piece;
    if (count_ == pieces_.size()) flush();
  }
  void flush() {
    take({pieces_.data(), count_});
    count_ = 0;
  }

 protected:
  /// The pieces' bytes are those of the text that was split.
  virtual void take(std::span<const std::string_view> pieces) = 0;
  /// Forgets what was not handed on: after an error it would be pieces of a text that is gone.
  void forget() { count_ = 0; }

 private:
  std::array<std::string_view, max_pieces> pieces_;
  std::size_t count_ = 0;
};

/// Implementations are safe to use from several threads at once.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Adds the pieces of `text` in order and does not flush. `text` need not be valid UTF-8: bytes that are
  /// not are in some piece.
  virtual void split(std::string_view text, PieceSink& sink) const = 0;
  /// The same of several texts, one after another.
  virtual void split_each(std::span<const std::string_view> texts, PieceSink& sink) const {
    for (const std::string_view text : texts) split(text, sink);
  }
  /// Whether a piece always ends between a letter of ASCII and a space that another one follows, so that
  /// texts on both sides of it can be split apart.
  virtual bool cuts_between_words() const { return false; }
  /// Returns whether Oniguruma runs a regular expression of it; else code of dt's own does all.
  virtual bool runs_regex() const { return false; }
};

}  // namespace dt::tokenizer
