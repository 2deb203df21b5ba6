#pragma once
// Changes of text before it is cut into pieces.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bounded_text.hpp"

namespace dt::tokenizer {

/// Implementations are safe to use from several threads at once.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// The text as it shall be: `text` itself where nothing changes, else what is put into `buffer`.
  /// `is_first`: text that the document begins with. Errors: input, text that is not UTF-8 where that
  /// matters, or becomes longer than the buffer takes.
  virtual std::string_view apply(std::string_view text, bool is_first, BoundedText& buffer) const = 0;
  /// Whether it changes the texts on both sides of a space between letters of ASCII as it changes the whole.
  virtual bool cuts_between_words() const { return false; }
  /// Returns whether Oniguruma runs a regular expression of it.
  virtual bool runs_regex() const { return false; }
};

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };
std::unique_ptr<Normalizer> make_unicode_normalizer(UnicodeForm form);
/// Every `from`, not empty, becomes `to`.
std::unique_ptr<Normalizer> make_replacement(std::string from, std::string to);
/// Every match of a regular expression becomes `to`.
std::unique_ptr<Normalizer> make_regex_replacement(const std::string& regex, std::string to);

enum class Prepend { always, unless_there, if_first_unless_there };
/// Text that is not empty gets `prefix` before it.
std::unique_ptr<Normalizer> make_prefix(std::string prefix, Prepend when);
/// Takes white space from the text's ends.
std::unique_ptr<Normalizer> make_strip(bool left, bool right);
/// One after another.
std::unique_ptr<Normalizer> make_normalizers(std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace dt::tokenizer
