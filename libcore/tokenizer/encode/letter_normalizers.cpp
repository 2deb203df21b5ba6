#include "tokenizer/encode/letter_normalizers.hpp"

#include <algorithm>
#include <array>

#include "base/text/utf8.hpp"
#include "tokenizer/unicode/unicode_versions.hpp"

namespace dt::tokenizer {

namespace {

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

char ascii_lower_case(char c) {
  return static_cast<char>(c | (c >= 'A' && c <= 'Z') << 5);
}

/// Returns the position of the first byte from `at` on that is not ASCII, or the text's end if there is
/// none.
std::size_t end_of_ascii(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(
      std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_ascii) - text.begin());
}

class Lowercase final : public Normalizer {
 public:
  std::string_view apply(std::string_view text, bool, BoundedText& buffer) const override {
    buffer.clear();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = end_of_ascii(text, at);
      append_ascii(text.substr(at, end - at), buffer);
      for (at = end; at < text.size() && !is_ascii(text[at]);) at += append_other(text.substr(at), buffer);
    }
    return buffer.view();
  }
  bool cuts_between_words() const override { return true; }

 private:
  static void append_ascii(std::string_view text, BoundedText& buffer) {
    std::array<char, 256> lower;
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), lower.size()))) {
      const std::string_view here = text.substr(0, lower.size());
      std::transform(here.begin(), here.end(), lower.begin(), ascii_lower_case);
      buffer.append({lower.data(), here.size()});
    }
  }
  /// Appends the first character of `text` in lower case. Returns the character's length in `text`.
  static std::size_t append_other(std::string_view text, BoundedText& buffer) {
    const std::size_t length = character_length(text);
    const char32_t code_point = first_code_point(text);
    const LowerCase lower = lower_case(code_point);
    if (lower.first == code_point || length == 1) {
      buffer.append(text.substr(0, length));
    } else {
      buffer.append(to_utf8(lower.first));
      if (lower.second != 0) buffer.append(to_utf8(lower.second));
    }
    return length;
  }
};

class StripAccents final : public Normalizer {
 public:
  std::string_view apply(std::string_view text, bool, BoundedText& buffer) const override {
    // The first mark is U+0300, which begins with the byte 0xCC.
    if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; }))
      return text;
    buffer.clear();
    for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
      end = at + character_length(text.substr(at));
      if (end - at == 1 || !is_accent(first_code_point(text.substr(at))))
        buffer.append(text.substr(at, end - at));
    }
    return buffer.view();
  }
  bool cuts_between_words() const override { return true; }
};

}  // namespace

std::unique_ptr<Normalizer> make_lowercase() {
  return std::make_unique<Lowercase>();
}

std::unique_ptr<Normalizer> make_strip_accents() {
  return std::make_unique<StripAccents>();
}

}  // namespace dt::tokenizer
