#include "tokenizer/encode/regex.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <mutex>
#include <oniguruma.h>
#include <vector>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/regex_watch.hpp"
#include "tokenizer/unicode/code_point_set.hpp"

namespace dt::tokenizer {

namespace {

/// Entries of the stack of one match; 40 bytes each.
constexpr unsigned long max_stack_entries = 1UL << 24;
/// Retries of one attempt at a match. A megabyte of white space takes a million with the expressions of
/// real tokenizers.
constexpr unsigned long max_retries = 10'000'000;
/// Real tokenizers' longest expressions have about 1,000 bytes. The cost of compiling grows with the
/// length.
constexpr std::size_t max_pattern_bytes = std::size_t{64} << 10;

constexpr int first_property = 256;  // class of property_at(0); Oniguruma's own classes are below
constexpr std::array<const char*, 15> own_classes = {"",      "alpha",  "blank", "cntrl",     "digit",
                                                     "graph", "lower",  "print", "[:punct:]", "space",
                                                     "upper", "xdigit", "word",  "alnum",     "ascii"};
static_assert(ONIGENC_CTYPE_ALPHA == 1 && ONIGENC_CTYPE_WORD == 12 && ONIGENC_CTYPE_ASCII == 14);

using Ranges = std::vector<OnigCodePoint>;  // number of ranges, then the first and last of each

const CodePointSet* set_of_class(OnigCtype type) {
  if (type >= static_cast<OnigCtype>(first_property)) return &property_at(type - first_property);
  if (type == ONIGENC_CTYPE_NEWLINE || type >= own_classes.size()) return nullptr;
  return &property(own_classes[type]);
}

/// Returns a class's ranges. They are never freed, since Oniguruma keeps the address.
const Ranges& ranges_of_class(OnigCtype type, const CodePointSet& set) {
  static std::map<OnigCtype, Ranges> known;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Ranges& ranges = known[type];
  if (ranges.empty()) {
    ranges.push_back(static_cast<OnigCodePoint>(set.ranges().size()));
    for (const CodePointRange& range : set.ranges()) ranges.insert(ranges.end(), {range.first, range.last});
  }
  return ranges;
}

int class_of_name(OnigEncodingTypeST*, OnigUChar* begin, OnigUChar* end) {
  const std::string_view name(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin));
  // Only Oniguruma's own names mean its own classes: (?D:\d) and (?D:\p{Digit}) are ASCII, (?D:\p{Nd})
  // is not.
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  for (std::size_t type = 1; type < own_classes.size(); ++type) {
    if (plain == own_classes[type]) return static_cast<int>(type);
  }
  const auto index = property_index(name);
  return index ? first_property + static_cast<int>(*index) : ONIGERR_INVALID_CHAR_PROPERTY_NAME;
}

int class_ranges(OnigCtype type, OnigCodePoint* single_byte_end, const OnigCodePoint** ranges) {
  const CodePointSet* const set = set_of_class(type);
  if (set == nullptr) return ONIG_ENCODING_UTF8->get_ctype_code_range(type, single_byte_end, ranges);
  *single_byte_end = 0x80;
  *ranges = ranges_of_class(type, *set).data();
  return 0;
}

/// Returns whether a class contains the character. Below U+0100, Oniguruma asks its own table, which
/// has more word characters than \w in a set.
int is_of_class(OnigCodePoint code_point, OnigCtype type) {
  const CodePointSet* const set = set_of_class(type);
  if (set == nullptr || (code_point < 0x100 && type < static_cast<OnigCtype>(first_property)))
    return ONIG_ENCODING_UTF8->is_code_ctype(code_point, type);
  if (type != ONIGENC_CTYPE_WORD) return set->contains(code_point) ? 1 : 0;
  static const CodePointTable words(*set);  // \w and \b test each character
  return words.contains(code_point) ? 1 : 0;
}

/// Letters that have another case since Unicode 15 or 16. Older libraries do not know them.
struct CasePair {
  OnigCodePoint from, to;
};
const std::vector<CasePair>& new_case_pairs() {
  static const std::vector<CasePair> pairs = [] {
    std::vector<CasePair> list = {
        {0x1c89, 0x1c8a}, {0xa7cb, 0x264}, {0xa7cc, 0xa7cd}, {0xa7da, 0xa7db}, {0xa7dc, 0x19b}};
    for (OnigCodePoint i = 0; i < 22; ++i) list.push_back({0x10d50 + i, 0x10d70 + i});
    return list;
  }();
  return pairs;
}

bool is_assigned(OnigCodePoint code_point) {
  static const CodePointTable table(property("assigned"));
  return table.contains(code_point);
}

struct FoldCallback {
  OnigApplyAllCaseFoldFunc function;
  void* argument;
};

int fold_if_assigned(OnigCodePoint from, OnigCodePoint* to, int length, void* argument) {
  const auto& callback = *static_cast<FoldCallback*>(argument);
  if (!is_assigned(from) || !std::all_of(to, to + length, is_assigned)) return 0;
  return callback.function(from, to, length, callback.argument);
}

int all_folds(OnigCaseFoldType flag, OnigApplyAllCaseFoldFunc function, void* argument) {
  FoldCallback callback{function, argument};
  int result = ONIG_ENCODING_UTF8->apply_all_case_fold(flag, fold_if_assigned, &callback);
  for (CasePair pair : new_case_pairs()) {
    if (result == 0) result = function(pair.from, &pair.to, 1, argument);
    if (result == 0) result = function(pair.to, &pair.from, 1, argument);
  }
  return result;
}

int folds_at(OnigCaseFoldType flag, const OnigUChar* begin, const OnigUChar* end,
             OnigCaseFoldCodeItem* items) {
  const int count = ONIG_ENCODING_UTF8->get_case_fold_codes_by_str(flag, begin, end, items);
  const auto* const last = std::remove_if(items, items + std::max(count, 0), [](const auto& item) {
    return !std::all_of(item.code, item.code + item.code_len, is_assigned);
  });
  if (count > 0) return static_cast<int>(last - items);
  const OnigCodePoint code_point = ONIG_ENCODING_UTF8->mbc_to_code(begin, end);
  for (const CasePair& pair : new_case_pairs()) {
    if (code_point != pair.from && code_point != pair.to) continue;
    items[0].byte_len = ONIG_ENCODING_UTF8->mbc_enc_len(begin);
    items[0].code_len = 1;
    items[0].code[0] = code_point == pair.from ? pair.to : pair.from;
    return 1;
  }
  return count;
}

int folded(OnigCaseFoldType flag, const OnigUChar** at, const OnigUChar* end, OnigUChar* to) {
  const OnigCodePoint code_point = ONIG_ENCODING_UTF8->mbc_to_code(*at, end);
  for (const CasePair& pair : new_case_pairs()) {
    if (code_point != pair.from) continue;
    *at += ONIG_ENCODING_UTF8->mbc_enc_len(*at);
    return ONIG_ENCODING_UTF8->code_to_mbc(pair.to, to);
  }
  return ONIG_ENCODING_UTF8->mbc_case_fold(flag, at, end, to);
}

/// The text that the calling thread searches.
thread_local const OnigUChar *searched_begin = nullptr, *searched_end = nullptr;

/// Lengths of characters by their first bytes, as Oniguruma has them.
std::array<std::uint8_t, 256> character_lengths;

/// Returns the length of the character at `at`. Oniguruma steps by it from each position where a match
/// may begin to the next. When the search must stop, all the rest of the text is one character. Nothing
/// else interrupts a search, and its result no longer matters.
int length_at(const OnigUChar* at) {
  if (WatchedSearch::must_stop() && searched_begin <= at && at < searched_end)
    return static_cast<int>(std::min<std::ptrdiff_t>(searched_end - at, std::numeric_limits<int>::max()));
  return character_lengths[*at];
}

/// Returns UTF-8 with the classes of Unicode 16. Oniguruma takes every class from its encoding.
OnigEncoding utf8_of_unicode_16() {
  static OnigEncodingType encoding = [] {
    OnigEncodingType made = *ONIG_ENCODING_UTF8;
    made.name = "UTF-8 of Unicode 16";
    for (unsigned byte = 0; byte < character_lengths.size(); ++byte) {
      const auto first = static_cast<OnigUChar>(byte);
      character_lengths[byte] = static_cast<std::uint8_t>(ONIG_ENCODING_UTF8->mbc_enc_len(&first));
    }
    made.mbc_enc_len = length_at;
    made.property_name_to_ctype = class_of_name;
    made.get_ctype_code_range = class_ranges;
    made.is_code_ctype = is_of_class;
    made.apply_all_case_fold = all_folds;
    made.get_case_fold_codes_by_str = folds_at;
    made.mbc_case_fold = folded;
    return made;
  }();
  static const int initialized = [] {
    OnigEncoding used[] = {ONIG_ENCODING_UTF8, &encoding};
    return onig_initialize(used, 2);
  }();
  DT_CHECK(initialized == ONIG_NORMAL, "Oniguruma failed to start: {}", initialized);
  return &encoding;
}

std::string message_of(int error, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length =
      info == nullptr ? onig_error_code_to_str(text, error) : onig_error_code_to_str(text, error, info);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)};
}

/// Returns an expression that every version of Oniguruma reads alike. Outside of brackets, \p{Word}
/// becomes \w, which has a few more characters there. \R is written out, since 6.9.8 loses matches of a
/// repeated \R.
/// Errors: input if the pattern has text segments (\X, \y, \Y), whose ends depend on the library's
/// Unicode.
std::string of_one_version(const std::string& pattern) {
  std::string result;
  int depth = 0;  // nesting of brackets
  for (std::size_t at = 0, length = 1; at < pattern.size(); at += length) {
    const std::string_view here = std::string_view(pattern).substr(at);
    length = here[0] == '\\' && here.size() > 1 ? 2 : 1;
    if (here[0] == '[') ++depth;
    if (here[0] == ']' && depth > 0) --depth;
    const char escaped = length == 2 ? here[1] : '\0';
    if (escaped == 'X' || escaped == 'y' || escaped == 'Y')
      throw input_error("the regular expression {} uses \\{}, which dt does not support", pattern, escaped);
    if (depth == 0 && escaped == 'R') {
      result += "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])";
      continue;
    }
    const bool names_class =
        depth == 0 && (escaped == 'p' || escaped == 'P') && here.size() > 2 && here[2] == '{';
    if (const std::size_t end = names_class ? here.find('}') : here.npos; end != here.npos) {
      const bool is_negated = here[3] == '^';
      const auto index = property_index(here.substr(is_negated ? 4 : 3, end - (is_negated ? 4 : 3)));
      if (index && index == property_index("word")) {
        result += is_negated != (escaped == 'P') ? "\\W" : "\\w";
        length = end + 1;
        continue;
      }
    }
    result += here.substr(0, length);
  }
  return result;
}

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

/// Returns the text with a control character for each byte that is not UTF-8.
std::string mended(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_length(text));
    const bool is_valid = is_valid_utf8(character);
    result += is_valid ? character : std::string_view("\x1A");
    text.remove_prefix(is_valid ? character.size() : 1);
  }
  return result;
}

/// Returns a time without a system call, so that it is as cheap under a tracer.
double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  if (pattern.size() > max_pattern_bytes)
    throw input_error("the regular expression {}… has {} bytes; the limit is {}", pattern.substr(0, 40),
                      pattern.size(), max_pattern_bytes);
  if (!is_valid_utf8(pattern)) throw input_error("the regular expression {} is not valid UTF-8", pattern);
  const std::string read = of_one_version(pattern);
  const OnigEncoding encoding = utf8_of_unicode_16();
  OnigErrorInfo info{};
  OnigRegex code = nullptr;
  const int result = onig_new(&code, bytes_of(read), bytes_of(read) + read.size(), ONIG_OPTION_NONE, encoding,
                              ONIG_SYNTAX_ONIGURUMA, &info);
  if (result != ONIG_NORMAL) {
    throw input_error("Oniguruma does not accept the regular expression {}: {}", pattern,
                      message_of(result, &info));
  }
  code_.reset(code);
}

void Regex::Free::operator()(void* code) const {
  onig_free(static_cast<OnigRegex>(code));
}

Regex::Search::Search(const Regex& regex, SearchTimeLimit limit)
    : regex_(regex), limit_(limit), found_(onig_region_new()), limits_(onig_new_match_param()) {
  if (found_ == nullptr || limits_ == nullptr) throw std::bad_alloc();
  auto* const limits = static_cast<OnigMatchParam*>(limits_);
  onig_initialize_match_param(limits);
  onig_set_match_stack_limit_size_of_match_param(limits, max_stack_entries);
  onig_set_retry_limit_in_match_of_match_param(limits, max_retries);
}

Regex::Search::~Search() {
  onig_region_free(static_cast<OnigRegion*>(found_), 1);
  onig_free_match_param(static_cast<OnigMatchParam*>(limits_));
}

void Regex::Search::start(std::string_view text) {
  text_ = text;
  if (!is_valid_utf8(text)) {
    mended_ = mended(text);
    text_ = mended_;
  }
  at_ = 0;
  last_end_.reset();
  bytes_ += text.size();
}

void Regex::Search::fail_time_limit() const {
  throw input_error("{}", too_slow(regex_.pattern_, limit_s(), bytes_));
}

/// Reads the clock. Once half of the search's limit has passed, search() times its calls.
void Regex::Search::check_time() {
  calls_until_look_ = calls_between_looks;
  const double now_s = wall_s();
  if (!began_s_) began_s_ = now_s;
  times_calls_ = now_s - *began_s_ > limit_s() / 2;
}

/// Searches for the first match from at_ on.
/// Counts the thread's CPU time in Oniguruma alone, without the time that callers or other programs
/// take. Short calls do not count. There are at most two calls per byte, so only long calls can add
/// up to quadratic time. Reading the CPU clock may also take longer than a short call.
int Regex::Search::search() {
  constexpr double short_s = 1e-6;
  if (calls_until_look_-- == 0) check_time();
  if (!times_calls_) return search_untimed();
  const double began_cpu_s = thread_cpu_s(), began_s = wall_s();
  const int result = search_untimed();
  if (wall_s() - began_s < short_s) return result;
  spent_s_ += thread_cpu_s() - began_cpu_s;
  if (spent_s_ > limit_s()) fail_time_limit();
  return result;
}

int Regex::Search::search_untimed() {
  const OnigUChar *const begin = bytes_of(text_), *const end = begin + text_.size();
  searched_begin = begin;
  searched_end = end;
  const WatchedSearch watched(regex_.pattern_, limit_s(), bytes_);
  const int result = onig_search_with_param(static_cast<OnigRegex>(regex_.code_.get()), begin, end,
                                            begin + at_, end, static_cast<OnigRegion*>(found_),
                                            ONIG_OPTION_NONE, static_cast<OnigMatchParam*>(limits_));
  if (WatchedSearch::must_stop()) fail_time_limit();
  return result;
}

std::optional<Regex::Match> Regex::Search::next() {
  while (at_ <= text_.size()) {
    const int result = search();
    if (result == ONIG_MISMATCH) break;
    if (result < 0) {
      throw input_error("the regular expression {} failed on the text: {}", regex_.pattern_,
                        message_of(result, nullptr));
    }
    const auto* const found = static_cast<const OnigRegion*>(found_);
    const auto begin = static_cast<std::size_t>(found->beg[0]), end = static_cast<std::size_t>(found->end[0]);
    if (begin > end || begin < last_end_.value_or(0)) {
      throw input_error("the regular expression {} matched text before the end of its previous match",
                        regex_.pattern_);
    }
    if (begin == end && last_end_ == end) {
      at_ += at_ < text_.size() ? character_length(text_.substr(at_)) : 1;
      continue;
    }
    at_ = end;
    last_end_ = end;
    return Match{begin, end};
  }
  at_ = text_.size() + 1;
  return std::nullopt;
}

}  // namespace dt::tokenizer
