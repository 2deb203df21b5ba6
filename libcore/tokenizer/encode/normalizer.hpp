#pragma once
// Changes of text before it is cut into pieces: Unicode's forms, replacements, prefixes, white space at the
// ends, and letters.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

/// Returns the most bytes that a text of `bytes` bytes may become. Steps of real tokenizers need much
/// less: Unicode's compatibility forms, which need the most, make 11 times as much.
constexpr std::size_t max_grown_bytes(std::size_t bytes) {
  return 64 * bytes + 1024;
}

/// Text that a tokenizer's steps make of other text, with a bound on its length. Without the bound, a few
/// steps that each make many characters of one could turn a line into gigabytes.
class BoundedText {
 public:
  explicit BoundedText(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::string_view view() const { return text_; }
  void clear() { text_.clear(); }
  /// Errors: input if the text would exceed the bound.
  BoundedText& append(std::string_view more) {
    if (text_.size() + more.size() > max_bytes_) fail();
    text_.append(more);
    return *this;
  }
  void swap(BoundedText& other) { text_.swap(other.text_); }

  std::size_t max_bytes() const { return max_bytes_; }
  void set_max_bytes(std::size_t max_bytes) { max_bytes_ = max_bytes; }
  /// Lowers the bound by `bytes`, for several texts that share one bound.
  void count_bytes(std::size_t bytes) { max_bytes_ -= std::min(max_bytes_, bytes); }

 private:
  [[noreturn]] void fail() const;
  std::string text_;
  std::size_t max_bytes_;
};

/// Changes text.
/// Thread safety: several threads may use one normalizer at once.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Returns the changed text: `text` or a part of it if that is the result, else a view of
  /// `buffer`. `is_first` means that the document begins with `text`.
  /// Errors: input if the normalizer needs UTF-8 and `text` is not, or if the result is longer than
  /// the buffer allows.
  virtual std::string_view apply(std::string_view text, bool is_first, BoundedText& buffer) const = 0;
  /// Returns whether text may be cut at a space between ASCII letters and both sides be changed
  /// separately.
  virtual bool cuts_between_words() const { return false; }
  /// Returns whether Oniguruma runs a regular expression of the normalizer.
  virtual bool runs_regex() const { return false; }
};

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };
std::unique_ptr<Normalizer> make_unicode_normalizer(UnicodeForm form);
/// Returns a normalizer that turns every `from`, which must not be empty, into `to`.
std::unique_ptr<Normalizer> make_replacement(std::string from, std::string to);
/// Returns a normalizer that turns every match of a regular expression into `to`.
std::unique_ptr<Normalizer> make_regex_replacement(const std::string& regex, std::string to);

enum class Prepend { always, unless_there, if_first_unless_there };
/// Returns a normalizer that puts `prefix` before text that is not empty.
std::unique_ptr<Normalizer> make_prefix(std::string prefix, Prepend when);
/// Returns a normalizer that removes white space from the text's ends.
std::unique_ptr<Normalizer> make_strip(bool left, bool right);
/// Returns a normalizer that replaces each character by lower_case() of it, whatever stands beside
/// it.
std::unique_ptr<Normalizer> make_lowercase();
/// Returns a normalizer that removes marks (see is_accent). A letter that is one character with its
/// mark stays.
std::unique_ptr<Normalizer> make_strip_accents();
/// Returns a normalizer that applies the steps one after another.
std::unique_ptr<Normalizer> make_normalizers(std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace dt::tokenizer
