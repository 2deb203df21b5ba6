#include "tokenizer/files/tiktoken_regex.hpp"

#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/regex.hpp"
#include "tokenizer/unicode/rust_class.hpp"

namespace dt::tokenizer {

namespace {

constexpr int max_depth = 100;
constexpr std::size_t unbounded = ~std::size_t{0};

/// A part of the expression as Oniguruma reads it.
struct Fragment {
  std::string text;
  bool is_single = false;     // a quantifier behind it repeats all of it
  bool can_be_empty = false;  // it can match nothing without an assertion that must hold
  bool is_assertion = false;  // it takes no text
  bool is_repeatable = true;
  bool has_assertion_branch = false;  // Oniguruma does not repeat such a group
};

struct Flags {
  bool folds = false, multi_line = false, dot_all = false, swaps_greed = false, ignores_space = false;
};

/// Reads fancy-regex's syntax from left to right and writes Oniguruma's.
class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {
    for (std::size_t at = text.find('\\'); at < text.size() - 1; at = text.find('\\', at + 2))
      has_references_ =
          has_references_ || text[at + 1] == 'k' || (text[at + 1] >= '1' && text[at + 1] <= '9');
    has_references_ = has_references_ || text.find("(?P=") != text.npos;
  }

  Fragment translate() {
    Fragment part = read_alternatives(0);
    if (at_ < text_.size()) throw input_error("a closing parenthesis has no opening one");
    return part;
  }

 private:
  // Alternatives, branches, pieces.

  Fragment read_alternatives(int depth) {
    if (depth > max_depth) throw input_error("groups are nested too deeply");
    Fragment all = read_branch(depth);
    bool is_assertion_branch = all.is_assertion && !all.text.empty();
    skip_space();
    while (take("|")) {
      const Fragment next = read_branch(depth);
      all.text += "|" + next.text;
      all.can_be_empty = all.can_be_empty || next.can_be_empty;
      all.is_single = false;
      all.is_assertion = all.is_assertion && next.is_assertion;
      is_assertion_branch = is_assertion_branch || (next.is_assertion && !next.text.empty());
      all.has_assertion_branch = all.has_assertion_branch || next.has_assertion_branch || is_assertion_branch;
      skip_space();
    }
    return all;
  }

  Fragment read_branch(int depth) {
    Fragment all{"", false, true, true};
    for (int count = 0;; ++count) {
      skip_space();
      if (at_ >= text_.size() || text_[at_] == '|' || text_[at_] == ')') return all;
      const Fragment part = read_piece(depth);
      all.is_single = count == 0 && part.is_single;
      all.text += part.text;
      all.can_be_empty = all.can_be_empty && part.can_be_empty;
      all.is_assertion = all.is_assertion && part.is_assertion;
      all.has_assertion_branch = all.has_assertion_branch || part.has_assertion_branch;
    }
  }

  Fragment read_piece(int depth) {
    Fragment part = read_atom(depth);
    skip_space();
    const auto range = read_quantifier();
    if (!range) return part;
    if (!part.is_repeatable || part.text.empty()) throw input_error("a quantifier has nothing to repeat");
    skip_space();
    const bool is_lazy = take("?") != flags_.swaps_greed;
    const bool is_possessive = take("+");
    const auto [least, most] = *range;
    if (least > most) throw input_error("a quantifier's bounds are in the wrong order");
    if (part.is_assertion) return repeated_assertion(part, least, is_lazy, is_possessive);
    std::string repeated = part.is_single ? part.text : "(?:" + part.text + ")";
    if (part.has_assertion_branch) repeated = "(?m:" + part.text + ")";  // no effect, but repeatable
    std::string text = repeated + quantifier(least, most);
    if (is_lazy && least != most) text += "?";
    const bool can_be_empty = part.can_be_empty || least == 0;
    if (is_possessive) return {"(?>" + text + ")", true, can_be_empty};
    // Oniguruma would read a second quantifier as part of the first, so the part is not single.
    return {text, false, can_be_empty};
  }

  /// Returns an assertion that is repeated. Oniguruma does not repeat what takes no text, and once is
  /// as good as several times.
  static Fragment repeated_assertion(Fragment part, std::size_t least, bool is_lazy, bool is_possessive) {
    if (least > 0) return part;
    const std::string opening = is_possessive ? "(?>" : "(?:";
    part.text = is_lazy ? opening + "|" + part.text + ")" : opening + part.text + "|)";
    part.is_single = part.can_be_empty = part.has_assertion_branch = true;
    return part;
  }

  static std::string quantifier(std::size_t least, std::size_t most) {
    if (most == 1 && least == 0) return "?";
    if (most == unbounded && least <= 1) return least == 0 ? "*" : "+";
    if (most == unbounded) return fmt::format("{{{},}}", least);
    return least == most ? fmt::format("{{{}}}", least) : fmt::format("{{{},{}}}", least, most);
  }

  /// Reads a quantifier. Where a brace is an ordinary character, returns nothing and leaves the
  /// position unchanged.
  std::optional<std::pair<std::size_t, std::size_t>> read_quantifier() {
    if (take("?")) return std::pair{std::size_t{0}, std::size_t{1}};
    if (take("*")) return std::pair{std::size_t{0}, unbounded};
    if (take("+")) return std::pair{std::size_t{1}, unbounded};
    const std::size_t start = at_;
    if (take("{")) {
      skip_space();
      const bool has_least = at_ < text_.size() && text_[at_] != ',';
      const auto least = has_least ? read_number() : std::optional<std::size_t>(0);
      skip_space();
      auto most = least;
      if (least && take(",")) {
        skip_space();
        most = read_number();
        if (!most) most = unbounded;
        skip_space();
      }
      if (least && take("}")) return std::pair{*least, *most};
    }
    at_ = start;
    return std::nullopt;
  }

  std::optional<std::size_t> read_number() {
    std::size_t number = 0;
    const char *const begin = text_.data() + at_, *const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || stop == begin) return std::nullopt;
    at_ += static_cast<std::size_t>(stop - begin);
    return number;
  }

  // Atoms.

  Fragment read_atom(int depth) {
    const char first = text_[at_];
    if (first == '(') return read_group(depth);
    if (first == '[') return of_set(read_rust_class(text_, at_, flags_.folds));
    if (first == '\\') return read_escape();
    if (first == '+' || first == '*' || first == '?') throw input_error("a quantifier has nothing to repeat");
    if (take(".")) return {flags_.dot_all ? "\\O" : "\\N", true};
    if (take("^")) return assertion(flags_.multi_line ? "(?:\\A|(?<=\\n))" : "\\A");
    if (take("$")) return assertion(flags_.multi_line ? "(?=\\n|\\z)" : "\\z");
    return of_character(take_character());
  }

  static Fragment assertion(std::string text) { return {std::move(text), false, false, true}; }
  static Fragment of_set(const CodePointSet& set) { return {oniguruma_class(set), true}; }
  Fragment of_character(char32_t code_point) const {
    const CodePointSet set = {{code_point, code_point}};
    const CodePointSet all = flags_.folds ? with_other_cases(set) : set;
    if (all == set) return {oniguruma_character(code_point), true};
    return of_set(all);
  }

  // Groups.

  Fragment read_group(int depth) {
    ++at_;
    skip_space();
    for (const char* look : {"?=", "?!", "?<=", "?<!"}) {
      if (!take(look)) continue;
      const Fragment part = read_alternatives(depth + 1);
      close();
      return {"(" + std::string(look) + part.text + ")", true, false, true, false};
    }
    if (take("?>")) return closed("(?>", read_alternatives(depth + 1));
    if (take("?P=")) return read_reference(")");
    std::string name;
    if (is_named_group()) {
      name = read_name();
    } else if (at_ < text_.size() && (text_[at_] == '?' || text_[at_] == '*')) {
      return read_flags(depth);
    }
    const std::size_t number = is_closed_.size();
    is_closed_.push_back(false);
    if (!name.empty() && !names_.emplace(name, number).second)
      throw input_error("two groups have the name {}", name);
    const Fragment part = closed(has_references_ ? "(" : "(?:", read_alternatives(depth + 1));
    is_closed_[number] = true;
    return part;
  }

  Fragment closed(const std::string& opening, const Fragment& part) {
    close();
    return {opening + part.text + ")", true, part.can_be_empty,
            part.is_assertion,         true, part.has_assertion_branch};
  }
  void close() {
    skip_space();
    if (!take(")")) throw input_error("a parenthesis is not closed");
  }

  Fragment read_flags(int depth) {
    if (!take("?")) throw input_error("(* is not supported");
    const Flags before = flags_;
    bool is_set = true;
    for (const std::size_t start = at_;; ++at_) {
      skip_space();
      if (at_ >= text_.size()) throw input_error("a parenthesis is not closed");
      const char flag = text_[at_];
      if (flag == '-' && is_set) {
        is_set = false;
      } else if (flag == 'u' && is_set) {
        continue;  // always on
      } else if (bool* const which = flag_of(flag)) {
        *which = is_set;
      } else if (flag == ')' && at_ > start) {
        ++at_;
        return {"", false, true, true, false};
      } else if (flag == ':') {
        ++at_;
        const Fragment part = closed("(?:", read_alternatives(depth + 1));
        flags_ = before;
        return part;
      } else {
        throw input_error("(?{} is not supported", text_.substr(start, at_ + 1 - start));
      }
    }
  }

  bool* flag_of(char letter) {
    if (letter == 'i') return &flags_.folds;
    if (letter == 'm') return &flags_.multi_line;
    if (letter == 's') return &flags_.dot_all;
    if (letter == 'U') return &flags_.swaps_greed;
    if (letter == 'x') return &flags_.ignores_space;
    return nullptr;
  }

  bool is_named_group() const {
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with("?<") || rest.starts_with("?'") || rest.starts_with("?P<");
  }
  std::string read_name() {
    const std::size_t begin = text_.find_first_of("<'", at_) + 1;
    const std::size_t end = text_.find(text_[begin - 1] == '<' ? '>' : '\'', begin);
    if (end == text_.npos || end == begin) throw input_error("a group's name is missing");
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  // Escapes.

  Fragment read_escape() {
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (letter >= '1' && letter <= '9') {
      ++at_;
      return reference(read_number().value_or(0));
    }
    if (letter == 'k') {
      at_ += 2;
      if (take("<")) return read_reference(">");
      if (take("'")) return read_reference("'");
      throw input_error("\\k has no name");
    }
    if (const auto part = read_assertion(letter)) return *part;
    const ClassEscape escape = read_rust_escape(text_, at_, flags_.folds);
    return escape.set ? of_set(*escape.set) : of_character(escape.code_point);
  }

  std::optional<Fragment> read_assertion(char letter) {
    static const std::string word = "[\\w\\x{200C}\\x{200D}]";
    static const std::string begin = "(?<!" + word + ")(?=" + word + ")",
                             end = "(?<=" + word + ")(?!" + word + ")",
                             within = "(?<=" + word + ")(?=" + word + ")",
                             outside = "(?<!" + word + ")(?!" + word + ")";
    static const std::map<char, Fragment> parts = {
        {'A', assertion("\\A")},
        {'z', assertion("\\z")},
        {'Z', assertion("(?=\\n*\\z)")},
        {'b', assertion("(?:" + begin + "|" + end + ")")},
        {'B', assertion("(?:" + within + "|" + outside + ")")},
        {'<', assertion("(?:" + begin + ")")},
        {'>', assertion("(?:" + end + ")")},
        {'G', {"\\G", false, false, true, false}},
        {'R', {"(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", true}},
        {'N', {"\\N", true}},
        {'O', {"\\O", true}}};
    const auto found = parts.find(letter);
    if (found == parts.end()) return std::nullopt;
    at_ += 2;
    if (letter != 'b') return found->second;
    const std::pair<const char*, std::string> braces[] = {{"{start}", begin},
                                                          {"{end}", end},
                                                          {"{start-half}", "(?<!" + word + ")"},
                                                          {"{end-half}", "(?!" + word + ")"}};
    for (const auto& [brace, text] : braces) {
      if (take(brace)) return assertion("(?:" + text + ")");
    }
    return found->second;
  }

  Fragment read_reference(std::string_view closing) {
    const std::size_t end = text_.find(closing, at_);
    if (end == text_.npos) throw input_error("a reference's name is not closed");
    const std::string name(text_.substr(at_, end - at_));
    const auto named = names_.find(name);
    std::size_t number = named == names_.end() ? 0 : named->second;
    if (number == 0) number = read_number().value_or(0);
    if (number == 0 || (named == names_.end() && at_ != end))
      throw input_error("the reference to {} is not supported", name);
    at_ = end + closing.size();
    return reference(number);
  }

  Fragment reference(std::size_t number) {
    if (flags_.folds) throw input_error("a back-reference under (?i) is not supported");
    if (number >= is_closed_.size() || !is_closed_[number])
      throw input_error("the reference to group {} comes before the end of the group, which is not supported",
                        number);
    return {fmt::format("\\k<{}>", number), true, true};
  }

  // Characters.

  char32_t take_character() {
    const std::string_view rest = text_.substr(at_);
    at_ += character_length(rest);
    return first_code_point(rest);
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  /// Skips comments and, under (?x), white space.
  void skip_space() {
    for (;;) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("(?#")) {
        std::size_t end = at_ + 3;
        while (end < text_.size() && text_[end] != ')') end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) throw input_error("a comment is not closed");
        at_ = end + 1;
      } else if (flags_.ignores_space && rest.starts_with("#")) {
        at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
      } else if (flags_.ignores_space && !rest.empty() &&
                 std::string_view(" \r\n\t").find(rest[0]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Flags flags_;
  std::map<std::string, std::size_t> names_;
  bool has_references_ = false;
  std::vector<bool> is_closed_ = {false};  // by group number
};

}  // namespace

std::string regex_of_tiktoken(const std::string& pattern) {
  Fragment part;
  try {
    if (!is_valid_utf8(pattern)) throw input_error("it is not valid UTF-8");
    part = Translator(pattern).translate();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    throw input_error("dt does not support the pattern {}: {}", pattern, error.message());
  }
  if (part.can_be_empty) {
    throw Error(ErrorKind::input, fmt::format("the pattern {} can match the empty text", pattern),
                "use a pattern whose matches are never empty and cover every text");
  }
  return part.text;
}

}  // namespace dt::tokenizer
