#pragma once
// Changes of text before it is cut into pieces.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bounded_text.hpp"

namespace dt::tokenizer {

/// Changes text.
/// Thread safety: several threads may use one normaliser at once.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Returns the changed text: `text` or a part of it where that is the result, else a view of
  /// `buffer`. `is_first`: the document begins with `text`.
  /// Errors: input, text that is not UTF-8 where that matters, or a result that is longer than the
  /// buffer takes.
  virtual std::string_view apply(std::string_view text, bool is_first, BoundedText& buffer) const = 0;
  /// Returns whether text may be cut at a space between ASCII letters and both sides be changed apart.
  virtual bool cuts_between_words() const { return false; }
  /// Returns whether Oniguruma runs a regular expression of the normaliser.
  virtual bool runs_regex() const { return false; }
};

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };
std::unique_ptr<Normalizer> make_unicode_normalizer(UnicodeForm form);
/// Turns every `from`, which is not empty, into `to`.
std::unique_ptr<Normalizer> make_replacement(std::string from, std::string to);
/// Turns every match of a regular expression into `to`.
std::unique_ptr<Normalizer> make_regex_replacement(const std::string& regex, std::string to);

enum class Prepend { always, unless_there, if_first_unless_there };
/// Puts `prefix` before text that is not empty.
std::unique_ptr<Normalizer> make_prefix(std::string prefix, Prepend when);
/// Removes white space from the text's ends.
std::unique_ptr<Normalizer> make_strip(bool left, bool right);
/// Applies the steps one after another.
std::unique_ptr<Normalizer> make_normalizers(std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace dt::tokenizer
