#pragma once
// Changes of text before it is cut into pieces: Unicode's forms, replacements, prefixes, white space at the
// ends, and letters.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/bounded_text.hpp"

namespace dt::tokenizer {

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
