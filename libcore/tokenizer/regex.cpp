#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/regex.hpp"

#include <algorithm>
#include <pcre2.h>

#include "base/error.hpp"
#include "tokenizer/unicode_versions.hpp"
#include "tokenizer/utf8.hpp"

namespace dt::tokenizer {

namespace {

/// \s of Unicode's White_Space; PCRE2's is a little more.
constexpr std::string_view spaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// The inside of a set of characters for "\s", "\p{…}" or, outside of sets, "\S", "\P{…}": by Unicode 16.
/// Nothing for what needs no change.
std::string set_of(std::string_view escape, bool by_newest) {
  if (escape == "\\s" || escape == "\\S") return std::string(spaces);
  const std::size_t open = escape.find('{');
  if (open == escape.npos || !by_newest) return {};
  const std::string_view category = escape.substr(open + 1, escape.size() - open - 2);
  std::string set;
  for (const CategoryRange& range : assigned_since_unicode_14()) {
    if (!std::string_view(range.category).starts_with(category)) continue;
    set += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", std::uint32_t{range.first}, std::uint32_t{range.last});
  }
  return set.empty() ? set : fmt::format("\\p{{{}}}{}", category, set);
}

/// "\s", "\p{Lu}" and what else an escape is, at the start of `text`.
std::string_view first_escape(std::string_view text) {
  const bool is_property = text.starts_with("\\p{") || text.starts_with("\\P{");
  const std::size_t close = is_property ? text.find('}') : text.npos;
  return text.substr(0, close == text.npos ? 2 : close + 1);
}

/// With white space, and `by_newest` other classes of characters too, as sets that do not depend on what
/// PCRE2 knows.
std::string with_plain_sets(std::string_view pattern, bool by_newest) {
  std::string out;
  bool in_set = false;
  while (!pattern.empty()) {
    const bool is_escape = pattern.front() == '\\';
    const std::string_view part = is_escape ? first_escape(pattern) : pattern.substr(0, 1);
    const bool is_negated = is_escape && part.size() > 1 && (part[1] == 'S' || part[1] == 'P');
    const std::string set = is_escape && !(in_set && is_negated) ? set_of(part, by_newest) : std::string();
    if (set.empty()) {
      out += part;
    } else {
      out += in_set ? set : fmt::format("[{}{}]", is_negated ? "^" : "", set);
    }
    if (part == "[") in_set = true;
    if (part == "]") in_set = false;
    pattern.remove_prefix(part.size());
  }
  return out;
}

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

pcre2_code* compiled(const std::string& pattern, const std::string& written) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Text that is not UTF-8 matches nothing, instead of harming.
  constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                         options, &error, &offset, nullptr);
  if (code == nullptr) {
    throw input_error("the regular expression {} is not one that PCRE2 knows: {} before \"{}\"", written,
                      message_of(error), pattern.substr(offset, 20));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, matching is interpreted
  return code;
}

/// Whether Unicode 14 says less of `text` than 16.
bool has_new_characters(std::string_view text) {
  const auto ranges = assigned_since_unicode_14();
  for (std::size_t at = 0; at < text.size(); at += character_length(text.substr(at))) {
    if (static_cast<unsigned char>(text[at]) < 0xE0) continue;  // none is below U+0800
    const char32_t code_point = first_code_point(text.substr(at));
    const auto range = std::lower_bound(ranges.begin(), ranges.end(), code_point,
                                        [](const CategoryRange& r, char32_t c) { return r.last < c; });
    if (range != ranges.end() && range->first <= code_point) return true;
  }
  return false;
}

}  // namespace

Regex::Regex(const std::string& pattern)
    : pattern_(pattern),
      code_(compiled(with_plain_sets(pattern, false), pattern), Free()),
      code_for_new_(compiled(with_plain_sets(pattern, true), pattern), Free()) {}

void Regex::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

Regex::Search::Search(const Regex& regex, std::string_view text)
    : regex_(regex),
      code_(has_new_characters(text) ? regex.code_for_new_.get() : regex.code_.get()),
      text_(text),
      found_(pcre2_match_data_create(1, nullptr)) {
  if (found_ == nullptr) throw std::bad_alloc();
}

Regex::Search::~Search() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(found_));
}

int Regex::Search::match() {
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(static_cast<pcre2_code*>(code_), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                       text_.size(), at_, options, static_cast<pcre2_match_data*>(found_), nullptr);
  };
  const int result = run(0);
  return result == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : result;  // the interpreter has the heap
}

std::optional<Regex::Match> Regex::Search::next() {
  while (at_ < text_.size()) {
    const int result = match();
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      throw input_error("the regular expression {} fails on the text: {}", regex_.pattern_,
                        message_of(result));
    }
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(static_cast<pcre2_match_data*>(found_));
    at_ = bounds[1];
    if (bounds[1] > bounds[0]) return Match{bounds[0], bounds[1]};
    do {
      ++at_;
    } while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80);
  }
  at_ = text_.size();
  return std::nullopt;
}

}  // namespace dt::tokenizer
