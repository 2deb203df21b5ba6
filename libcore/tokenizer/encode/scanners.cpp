#include "tokenizer/encode/scanners.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/unicode/characters.hpp"

namespace dt::tokenizer {

namespace {

/// The text of one call, with the elements of the patterns. Pointers are positions in the text.
class Text {
 public:
  explicit Text(std::string_view text, const CharacterTable& characters = CharacterTable::get())
      : characters_(characters), end_(text.data() + text.size()) {}
  const char* end() const { return end_; }
  bool ends_at(const char* at) const { return at == end_; }
  /// Returns the character at `at`, or one without class bits at the text's end.
  Character character(const char* at) const {
    return ends_at(at) ? Character{0, 0} : characters_.at(at, end_);
  }
  bool is(const char* at, std::uint8_t classes) const { return (character(at).char_class & classes) != 0; }

  /// Returns the end of the run of characters from `at` on that are of these classes.
  const char* run(const char* at, std::uint8_t classes) const {
    if (classes == char_letter) at = ascii_letters(at);
    while (!ends_at(at)) {
      const Character next = characters_.at(at, end_);
      if ((next.char_class & classes) == 0) break;
      at += next.length;
    }
    return at;
  }

  /// Returns the end of that run, but at most `most` characters from `at`.
  const char* run(const char* at, std::uint8_t classes, int most) const {
    for (; most > 0 && is(at, classes); --most) at += character(at).length;
    return at;
  }

  /// Returns the bytes of 's 't 'm 'd 'll 've 're behind the apostrophe at `at`, or 0 if none of them
  /// is there.
  std::size_t contraction(const char* at, bool any_case) const {
    const auto letter = [&](int i) {
      if (end_ - at <= i) return '\0';
      return any_case && at[i] >= 'A' && at[i] <= 'Z' ? static_cast<char>(at[i] | 0x20) : at[i];
    };
    const char first = letter(1), second = letter(2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 1;
    if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e')) return 2;
    const bool is_long_s = first == '\xC5' && second == '\xBF';  // U+017F, an s in another case
    return any_case && is_long_s ? 2 : 0;
  }

  /// Matches \s+(?!\S)|\s+ in the white space [at, run_end). The match is all of it at the text's end,
  /// or if it is one character. Otherwise it is all but the last character.
  const char* spaces(const char* at, const char* run_end) const {
    if (ends_at(run_end)) return run_end;
    const char* last = run_end - 1;
    while (last > at && continues_character(*last)) --last;
    return last > at ? last : run_end;
  }

  /// Matches \s*[\r\n]+|\s+(?!\S)|\s+ in the same white space: up to the last line's end, if there is
  /// one.
  const char* lines(const char* at, const char* run_end) const {
    const char* line_end = run_end;
    while (line_end > at && line_end[-1] != '\n' && line_end[-1] != '\r') --line_end;
    return line_end > at ? line_end : spaces(at, run_end);
  }

 private:
  /// Skips ASCII letters, eight at a time, so that a word's end is no branch to predict. Leaves the
  /// text's last few bytes to the caller.
  const char* ascii_letters(const char* at) const {
    for (std::uint64_t bytes = 0; end_ - at >= 8; at += 8) {
      std::memcpy(&bytes, at, 8);
      const std::uint64_t others = ~letters_among(bytes) & high_bits;
      if (others != 0) return at + std::countr_zero(others) / 8;
    }
    return at;
  }

  /// Returns the high bit of each byte that is an ASCII letter. Other bits have any value. No sum
  /// carries into the next byte.
  static std::uint64_t letters_among(std::uint64_t bytes) {
    const std::uint64_t low_case = (bytes | 0x20 * each_byte) & ~high_bits;
    const std::uint64_t from_a = low_case + (0x80 - 'a') * each_byte,
                        beyond_z = low_case + (0x7F - 'z') * each_byte;
    return from_a & ~beyond_z & ~bytes;
  }
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::uint64_t each_byte = 0x0101010101010101, high_bits = 0x80 * each_byte;

  const CharacterTable& characters_;
  const char* end_;
};

class Gpt2Rules {
 public:
  static Text text_of(std::string_view bytes) { return Text(bytes); }
  static const char* next(const Text& text, const char* at) {
    if (*at == '\'') {
      if (const std::size_t bytes = text.contraction(at, false)) return at + 1 + bytes;
    }
    const char* const body = *at == ' ' ? at + 1 : at;
    const Character first = text.character(body);
    if ((first.char_class & ~char_whitespace) != 0) return text.run(body + first.length, first.char_class);
    return text.spaces(at, text.run(at, char_whitespace));
  }
};

template <int max_digits, bool joins_last_spaces>
class Cl100kRules {
 public:
  static Text text_of(std::string_view bytes) { return Text(bytes); }
  static const char* next(const Text& text, const char* at) {
    if (*at == '\'') {
      if (const std::size_t bytes = text.contraction(at, true)) return at + 1 + bytes;
    }
    const Character first = text.character(at);
    const char* const second = at + first.length;
    if (first.char_class == char_letter) return text.run(second, char_letter);
    if (first.char_class == char_number) return text.run(second, char_number, max_digits - 1);
    const Character then = text.character(second);
    if (first.char_class != char_newline && then.char_class == char_letter)
      return text.run(second + then.length, char_letter);
    if (first.char_class == char_other || (*at == ' ' && then.char_class == char_other))
      return text.run(text.run(second, char_other), char_newline);
    const char* const end = text.run(at, char_whitespace);
    return joins_last_spaces && text.ends_at(end) ? end : text.lines(at, end);
  }
};

template <int max_digits, bool has_contractions>
class O200kRules {
 public:
  static Text text_of(std::string_view bytes) { return Text(bytes, CharacterTable::by_case()); }
  static const char* next(const Text& text, const char* at) {
    const Character first = text.character(at);
    const char* const second = at + first.length;
    if ((first.char_class & letters) != 0) return behind_word(text, word(text, at));
    if (first.char_class == char_number) return text.run(second, char_number, max_digits - 1);
    if (first.char_class != char_newline && text.is(second, letters | char_mark)) {
      if (const char* const end = word(text, second, first.char_class != char_mark))
        return behind_word(text, end);
    }
    if (first.char_class == char_mark) return behind_word(text, second);
    if (first.char_class == char_other || (*at == ' ' && text.is(second, char_other)))
      return behind_symbols(text, text.run(second, char_other | char_mark));
    return text.lines(at, text.run(at, char_whitespace));
  }

 private:
  static constexpr std::uint8_t letters = char_upper | char_lower | char_caseless;
  static constexpr std::uint8_t in_any_case = char_caseless | char_mark;

  /// Returns the end of U*l+ at `at`, which is a letter or mark. Returns the end of U+ if U*l+ does
  /// not match there. U*l+ needs a small letter behind U*, or a mark or letter without case to go
  /// back to. Without `may_be_upper`, returns null for U+.
  static const char* word(const Text& text, const char* at, bool may_be_upper = true) {
    const char* behind_caseless = nullptr;
    while (true) {
      const char* const capitals_end = text.run(at, char_upper);
      at = text.run(capitals_end, in_any_case);
      if (at == capitals_end) break;
      behind_caseless = at;
    }
    if (text.is(at, char_lower)) return text.run(at, char_lower | in_any_case);
    if (behind_caseless != nullptr) return behind_caseless;
    return may_be_upper ? at : nullptr;
  }

  static const char* behind_word(const Text& text, const char* at) {
    if (!has_contractions || text.ends_at(at) || *at != '\'') return at;
    const std::size_t bytes = text.contraction(at, true);
    return bytes == 0 ? at : at + 1 + bytes;
  }

  static const char* behind_symbols(const Text& text, const char* at) {
    while (!text.ends_at(at) && (*at == '\r' || *at == '\n' || *at == '/')) ++at;
    return at;
  }
};

template <class Rules>
class Scanner final : public PreTokenizer {
 public:
  void split(std::string_view bytes, PieceSink& sink) const override {
    const Text text = Rules::text_of(bytes);
    for (const char* at = bytes.data(); !text.ends_at(at);) {
      const char* const end = Rules::next(text, at);
      sink.add({at, static_cast<std::size_t>(end - at)});
      at = end;
    }
  }
  bool cuts_between_words() const override { return true; }
};

struct Known {
  std::string_view regex;
  Pattern pattern;
  bool is_tiktokens = false;  // Oniguruma reads it differently
};

constexpr Known known_regexes[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Pattern::gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Pattern::gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)", Pattern::gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::llama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::qwen2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\z|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::cl100k},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
     Pattern::cl100k, true},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::o200k},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::tekken}};

}  // namespace

std::string regex_of_pattern(Pattern pattern) {
  const auto* const found = std::find_if(std::begin(known_regexes), std::end(known_regexes),
                                         [&](const Known& known) { return known.pattern == pattern; });
  return std::string(found->regex);
}

std::string regex_of_text(const std::string& name_or_regex) {
  const auto known = parse_name<Pattern>(name_or_regex);
  return known ? regex_of_pattern(*known) : name_or_regex;
}

std::optional<Pattern> pattern_of_regex(std::string_view regex) {
  for (const Known& known : known_regexes) {
    if (known.regex == regex && !known.is_tiktokens) return known.pattern;
  }
  return std::nullopt;
}

std::optional<Pattern> pattern_of_tiktoken_regex(std::string_view regex) {
  for (const Known& known : known_regexes) {
    if (known.regex == regex) return known.pattern;
  }
  return std::nullopt;
}

std::unique_ptr<PreTokenizer> make_scanner(Pattern pattern) {
  switch (pattern) {
    case Pattern::gpt2:
      return std::make_unique<Scanner<Gpt2Rules>>();
    case Pattern::cl100k:
      return std::make_unique<Scanner<Cl100kRules<3, true>>>();
    case Pattern::llama3:
      return std::make_unique<Scanner<Cl100kRules<3, false>>>();
    case Pattern::qwen2:
      return std::make_unique<Scanner<Cl100kRules<1, false>>>();
    case Pattern::o200k:
      return std::make_unique<Scanner<O200kRules<3, true>>>();
    case Pattern::tekken:
      return std::make_unique<Scanner<O200kRules<1, false>>>();
  }
  DT_CHECK(false, "the pattern has no scanner");
}

}  // namespace dt::tokenizer
