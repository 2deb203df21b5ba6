#include "tokenizer/encode/normalizer.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utf8proc.h>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/regex.hpp"
#include "tokenizer/unicode/characters.hpp"
#include "tokenizer/unicode/unicode_versions.hpp"

namespace dt::tokenizer {

namespace {

class UnicodeNormalizer final : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form) : form_(form) {}

  std::string_view apply(std::string_view text, bool, BoundedText& buffer) const override {
    if (std::all_of(text.begin(), text.end(), [&](char c) { return is_stable(c); })) return text;
    buffer.clear();
    std::size_t begin = 0;  // start of the text that is not in the buffer yet
    for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
      end = at + character_length(text.substr(at));
      if (end - at == 1 || !is_new_to_normalization(first_code_point(text.substr(at)))) continue;
      append(text.substr(begin, at - begin), buffer);
      buffer.append(text.substr(at, end - at));
      begin = end;
    }
    append(text.substr(begin), buffer);
    return buffer.view();
  }

  bool cuts_between_words() const override { return true; }

 private:
  /// NFC leaves characters below U+0300 as they are: every composition has a second character from
  /// there on. The other forms leave ASCII as it is.
  bool is_stable(char c) const {
    return static_cast<unsigned char>(c) < (form_ == UnicodeForm::nfc ? 0xCC : 0x80);
  }

  void append(std::string_view text, BoundedText& buffer) const {
    utf8proc_uint8_t* result = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &result, options());
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
    if (length < 0) throw input_error("text cannot be normalized: {}", utf8proc_errmsg(length));
    buffer.append({reinterpret_cast<const char*>(result), static_cast<std::size_t>(length)});
  }

  utf8proc_option_t options() const {
    int options = UTF8PROC_STABLE;
    if (form_ == UnicodeForm::nfc || form_ == UnicodeForm::nfkc) options |= UTF8PROC_COMPOSE;
    if (form_ == UnicodeForm::nfd || form_ == UnicodeForm::nfkd) options |= UTF8PROC_DECOMPOSE;
    if (form_ == UnicodeForm::nfkc || form_ == UnicodeForm::nfkd) options |= UTF8PROC_COMPAT;
    return static_cast<utf8proc_option_t>(options);
  }
  UnicodeForm form_;
};

class Replacement final : public Normalizer {
 public:
  Replacement(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {
    DT_CHECK(!from_.empty(), "a replacement has no text to replace");
    // A search may compare the whole pattern at every position of a text.
    constexpr std::size_t max_bytes = 1024;
    if (from_.size() > max_bytes)
      throw input_error("a Replace step has a pattern of {} bytes; the limit is {}", from_.size(), max_bytes);
  }
  std::string_view apply(std::string_view text, bool, BoundedText& buffer) const override {
    std::size_t found = text.find(from_), at = 0;
    if (found == text.npos) return text;
    buffer.clear();
    for (; found != text.npos; found = text.find(from_, at)) {
      buffer.append(text.substr(at, found - at)).append(to_);
      at = found + from_.size();
    }
    return buffer.append(text.substr(at)).view();
  }

 private:
  std::string from_, to_;
};

class RegexReplacement final : public Normalizer {
 public:
  RegexReplacement(const std::string& regex, std::string to) : regex_(regex), to_(std::move(to)) {}
  std::string_view apply(std::string_view text, bool, BoundedText& buffer) const override {
    buffer.clear();
    std::size_t at = 0;
    Regex::Search search(regex_);
    if (!text.empty()) search.start(text);
    while (const auto found = search.next()) {
      buffer.append(text.substr(at, found->begin - at)).append(to_);
      at = found->end;
    }
    return buffer.append(text.substr(at)).view();
  }

  bool runs_regex() const override { return true; }

 private:
  Regex regex_;
  std::string to_;
};

class Prefix final : public Normalizer {
 public:
  Prefix(std::string prefix, Prepend when) : prefix_(std::move(prefix)), when_(when) {}
  std::string_view apply(std::string_view text, bool is_first, BoundedText& buffer) const override {
    const bool is_there = when_ != Prepend::always && text.substr(0, prefix_.size()) == prefix_;
    if (text.empty() || is_there || (when_ == Prepend::if_first_unless_there && !is_first)) return text;
    buffer.clear();
    return buffer.append(prefix_).append(text).view();
  }

 private:
  std::string prefix_;
  Prepend when_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  std::string_view apply(std::string_view text, bool, BoundedText&) const override {
    const CharacterTable& characters = CharacterTable::get();
    const char* const end = text.data() + text.size();
    std::size_t first = text.size(), last_end = 0;  // bounds of the text without white space
    for (std::size_t at = 0; at < text.size();) {
      const Character next = characters.at(text.data() + at, end);
      const bool is_space = (next.char_class & char_whitespace) != 0;
      if (!is_space) first = std::min(first, at);
      at += next.length;
      if (!is_space) last_end = at;
    }
    if (last_end == 0) return left_ || right_ ? std::string_view() : text;
    const std::size_t begin = left_ ? first : 0;
    return text.substr(begin, (right_ ? last_end : text.size()) - begin);
  }

 private:
  bool left_, right_;
};

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

/// Returns the offset of `part` in `whole`, if it lies there.
std::optional<std::size_t> place_in(std::string_view whole, std::string_view part) {
  const std::less<> is_before;
  if (is_before(part.data(), whole.data()) || is_before(whole.data() + whole.size(), part.data())) return {};
  return static_cast<std::size_t>(part.data() - whole.data());
}

class Steps final : public Normalizer {
 public:
  explicit Steps(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  std::string_view apply(std::string_view text, bool is_first, BoundedText& buffer) const override {
    BoundedText other(buffer.max_bytes());
    for (const auto& step : steps_) {
      text = step->apply(text, is_first, other);
      const auto begin = place_in(other.view(), text);
      if (!begin) continue;  // the step wrote nothing, or stripped text in `buffer`
      buffer.swap(other);
      text = buffer.view().substr(*begin, text.size());
    }
    return text;
  }

  bool cuts_between_words() const override {
    return std::all_of(steps_.begin(), steps_.end(),
                       [](const auto& step) { return step->cuts_between_words(); });
  }
  bool runs_regex() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->runs_regex(); });
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<Normalizer> make_unicode_normalizer(UnicodeForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}
std::unique_ptr<Normalizer> make_replacement(std::string from, std::string to) {
  return std::make_unique<Replacement>(std::move(from), std::move(to));
}
std::unique_ptr<Normalizer> make_regex_replacement(const std::string& regex, std::string to) {
  return std::make_unique<RegexReplacement>(regex, std::move(to));
}
std::unique_ptr<Normalizer> make_prefix(std::string prefix, Prepend when) {
  return std::make_unique<Prefix>(std::move(prefix), when);
}
std::unique_ptr<Normalizer> make_strip(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
std::unique_ptr<Normalizer> make_lowercase() {
  return std::make_unique<Lowercase>();
}
std::unique_ptr<Normalizer> make_strip_accents() {
  return std::make_unique<StripAccents>();
}
std::unique_ptr<Normalizer> make_normalizers(std::vector<std::unique_ptr<Normalizer>> steps) {
  if (steps.size() == 1) return std::move(steps.front());
  return std::make_unique<Steps>(std::move(steps));
}

}  // namespace dt::tokenizer
