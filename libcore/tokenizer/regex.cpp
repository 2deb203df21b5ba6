#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/regex.hpp"

#include <pcre2.h>

#include "base/error.hpp"

namespace dt::tokenizer {

namespace {

/// \s of Unicode's White_Space; PCRE2's is a little more.
constexpr std::string_view spaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// With \s, and \S outside of brackets, as sets of characters.
std::string with_plain_spaces(std::string_view pattern) {
  std::string out;
  bool in_set = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view two = pattern.substr(i, 2);
    if (two == "\\s" || (two == "\\S" && !in_set)) {
      out += in_set ? std::string(spaces) : fmt::format("[{}{}]", two == "\\S" ? "^" : "", spaces);
      ++i;
    } else if (pattern[i] == '\\') {
      out += two;
      ++i;
    } else {
      if (pattern[i] == '[') in_set = true;
      if (pattern[i] == ']') in_set = false;
      out += pattern[i];
    }
  }
  return out;
}

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

pcre2_code* code_of(void* code) {
  return static_cast<pcre2_code*>(code);
}

}  // namespace

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  const std::string plain = with_plain_spaces(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Text that is not UTF-8 matches nothing, instead of harming.
  constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY;
  code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(plain.data()), plain.size(), options, &error, &offset,
                        nullptr);
  if (code_ == nullptr) {
    throw input_error("the regular expression {} is not one that PCRE2 knows: {} before \"{}\"", pattern,
                      message_of(error), plain.substr(offset, 20));
  }
  pcre2_jit_compile(code_of(code_), PCRE2_JIT_COMPLETE);  // where it cannot, matching is interpreted
}

Regex::~Regex() {
  pcre2_code_free(code_of(code_));
}

Regex::Search::Search(const Regex& regex, std::string_view text)
    : regex_(regex), text_(text), found_(pcre2_match_data_create(1, nullptr)) {
  if (found_ == nullptr) throw std::bad_alloc();
}

Regex::Search::~Search() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(found_));
}

int Regex::Search::match() {
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(code_of(regex_.code_), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at_,
                       options, static_cast<pcre2_match_data*>(found_), nullptr);
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
