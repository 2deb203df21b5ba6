#pragma once
// Splits text into pieces that tokens do not cross: words, numbers, punctuation, spaces.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace dt::tokenizer {

/// Takes pieces as they are found, and passes them on up to max_pieces at a time.
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
  /// Takes pieces, whose bytes lie in the text that was split.
  virtual void take(std::span<const std::string_view> pieces) = 0;
  /// Drops pieces that were not passed on. After an error they would be of a text that is gone.
  void clear() { count_ = 0; }

 private:
  std::array<std::string_view, max_pieces> pieces_;
  std::size_t count_ = 0;
};

/// Splits text into pieces.
/// Thread safety: several threads may use one pre-tokenizer at once.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Adds the pieces of `text` in order, and does not flush. `text` need not be valid UTF-8: invalid
  /// bytes are in some piece.
  virtual void split(std::string_view text, PieceSink& sink) const = 0;
  /// Splits several texts, one after another.
  virtual void split_each(std::span<const std::string_view> texts, PieceSink& sink) const {
    for (const std::string_view text : texts) split(text, sink);
  }
  /// Returns whether a piece always ends between an ASCII letter and a space that another ASCII letter
  /// follows. The texts on both sides can then be split separately.
  virtual bool cuts_between_words() const { return false; }
  /// Returns whether Oniguruma runs a regular expression of the pre-tokenizer. Otherwise dt's own code
  /// does all.
  virtual bool runs_regex() const { return false; }
};

}  // namespace dt::tokenizer
