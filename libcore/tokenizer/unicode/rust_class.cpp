#include "tokenizer/unicode/rust_class.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/unicode/unicode_properties.hpp"

namespace dt::tokenizer {

namespace {

using Orbits = std::map<char32_t, std::vector<char32_t>>;

/// Returns for each character those that it matches under (?i), itself among them.
const Orbits& case_orbits() {
  static const Orbits orbits = [] {
    Orbits made;
    for (std::size_t i = 0; i < num_case_shifts; ++i) {
      const CaseShift& shift = case_shifts[i];
      for (char32_t low = shift.first; low <= shift.last; low += shift.step) {
        std::vector<char32_t> orbit = made.contains(low) ? made[low] : std::vector<char32_t>{low};
        orbit.push_back(low + shift.shift);
        for (const char32_t member : orbit) made[member] = orbit;
      }
    }
    return made;
  }();
  return orbits;
}

struct PosixClass {
  std::string_view name;
  CodePointSet set;
};

/// Returns the sets of [:name:], which contain ASCII only.
const std::vector<PosixClass>& posix_classes() {
  static const std::vector<PosixClass> classes = {{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                                  {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
                                                  {"ascii", {{0, 0x7f}}},
                                                  {"blank", {{'\t', '\t'}, {' ', ' '}}},
                                                  {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
                                                  {"digit", {{'0', '9'}}},
                                                  {"graph", {{'!', '~'}}},
                                                  {"lower", {{'a', 'z'}}},
                                                  {"print", {{' ', '~'}}},
                                                  {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                                                  {"space", {{'\t', '\r'}, {' ', ' '}}},
                                                  {"upper", {{'A', 'Z'}}},
                                                  {"word", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}},
                                                  {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  return classes;
}

/// Returns the set of a name that fancy-regex alone has, or by which Oniguruma means another set than
/// Rust's regex crate.
std::optional<CodePointSet> special_property(const std::string& name) {
  if (name == "alnum") return property("alphabetic") | property("nd");
  if (name == "blank") return property("zs") | CodePointSet{{'\t', '\t'}};
  if (name == "cntrl") return CodePointSet{{0, 0x1f}, {0x7f, 0x9f}};
  if (name == "word") return rust_word_characters();
  if (name == "graph") return ~(property("whitespace") | property("c"));
  if (name == "print") return ~(property("c") | CodePointSet{{'\t', '\r'}});
  if (name == "cs") return CodePointSet();
  if (name == "any") return CodePointSet{{0, CodePointSet::last_code_point}};
  static const std::map<std::string, std::string> same = {{"alpha", "alphabetic"}, {"digit", "nd"},
                                                          {"lower", "lowercase"},  {"upper", "uppercase"},
                                                          {"punct", "p"},          {"space", "whitespace"}};
  const auto found = same.find(name);
  return found == same.end() ? std::nullopt : std::optional(property(found->second));
}

/// Returns the set of \p{name}. `name` has no braces; a ^ in front of it negates. `folds` ignores case as
/// (?i) does.
/// Errors: input if Rust's regex crate or dt does not know the name.
CodePointSet rust_property(std::string_view name, bool folds) {
  const bool is_negated = name.starts_with('^');
  std::string wanted;
  for (const char c : name.substr(is_negated ? 1 : 0)) {
    if (c == ' ' || c == '-' || c == '_') continue;
    wanted += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  for (const std::string_view kind : {"gc=", "generalcategory=", "sc=", "script=", "gc:", "sc:"}) {
    if (wanted.starts_with(kind)) wanted = wanted.substr(kind.size());
  }
  std::optional<CodePointSet> set = special_property(wanted);
  const bool is_block =
      wanted.starts_with("in") && property_index(wanted) && property_index(wanted.substr(2));
  if (!set && !is_block && property_index(wanted)) set = property(wanted);
  if (!set) throw input_error("\\p{{{}}} is unknown", name);
  if (folds) set = with_other_cases(*set);
  return is_negated ? ~*set : *set;
}

/// Returns the set of \d, \s, \w or \h, and its complement for a capital letter. Returns none for any other
/// letter.
std::optional<CodePointSet> rust_class_of_letter(char letter) {
  const auto of_small = [](char small) -> std::optional<CodePointSet> {
    if (small == 'd') return property("nd");
    if (small == 's') return property("whitespace");
    if (small == 'w') return rust_word_characters();
    if (small == 'h') return CodePointSet{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
    return std::nullopt;
  };
  if (letter >= 'a') return of_small(letter);
  const auto set = of_small(static_cast<char>(letter | 0x20));
  return set ? std::optional(~*set) : std::nullopt;
}

bool take(std::string_view text, std::size_t& at, std::string_view what) {
  if (!text.substr(at).starts_with(what)) return false;
  at += what.size();
  return true;
}

char32_t take_character(std::string_view text, std::size_t& at) {
  const std::string_view rest = text.substr(at);
  at += character_length(rest);
  return first_code_point(rest);
}

/// Reads \p{name}, \pL or their complements from the letter on.
CodePointSet read_property(std::string_view text, std::size_t& at, bool folds) {
  const bool is_negated = text[at++] == 'P';
  std::string_view name = text.substr(at, 1);
  if (name == "{") {
    const std::size_t end = text.find('}', at);
    if (end == text.npos) throw input_error("\\p{{ is not closed");
    name = text.substr(at + 1, end - at - 1);
    at = end + 1;
  } else {
    at += name.size();
  }
  const CodePointSet set = rust_property(name, folds);
  return is_negated ? ~set : set;
}

/// Reads a character's number, of `num_digits` digits or in braces.
char32_t read_hexadecimal(std::string_view text, std::size_t& at, std::size_t num_digits) {
  std::string_view digits = text.substr(at, num_digits);
  std::size_t end = at + num_digits;
  if (take(text, at, "{")) {
    end = text.find('}', at);
    if (end == text.npos) throw input_error("a character code is not closed");
    digits = text.substr(at, end - at);
    ++end;
    num_digits = digits.size();
  }
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  const bool is_whole = error == std::errc() && stop == digits.data() + digits.size() &&
                        digits.size() == num_digits && num_digits <= 8;
  if (!is_whole || value > CodePointSet::last_code_point || (value >= 0xD800 && value <= 0xDFFF))
    throw input_error("a character code is invalid");
  at = end;
  return value;
}

class ClassReader {
 public:
  ClassReader(std::string_view text, std::size_t& at, bool folds) : text_(text), at_(at), folds_(folds) {}

  /// Reads from the opening bracket on.
  CodePointSet read(int depth) {
    if (depth > 50) throw input_error("brackets are nested too deeply");
    ++at_;
    const bool is_negated = take("^");
    CodePointSet set = folded(read_operations(depth));
    return is_negated ? ~set : set;
  }

 private:
  enum class Operation { none, both, without, either };

  CodePointSet read_operations(int depth) {
    CodePointSet left;
    Operation operation = Operation::none;
    CodePointSet items = read_first_literals();
    for (;;) {
      if (at_ >= text_.size()) throw input_error("a bracket is not closed");
      const Operation next = take("&&")   ? Operation::both
                             : take("--") ? Operation::without
                             : take("~~") ? Operation::either
                                          : Operation::none;
      const bool is_end = next == Operation::none && take("]");
      if (next == Operation::none && !is_end) {
        items = items | read_item(depth);
        continue;
      }
      left = operation == Operation::none ? items : combined(operation, folded(left), folded(items));
      if (is_end) return left;
      operation = next;
      items = CodePointSet();
    }
  }

  static CodePointSet combined(Operation operation, const CodePointSet& left, const CodePointSet& right) {
    if (operation == Operation::both) return left & right;
    return operation == Operation::without ? left - right : left ^ right;
  }

  /// Reads characters that stand for themselves at the start of a class: hyphens, or else a closing
  /// bracket.
  CodePointSet read_first_literals() {
    std::vector<CodePointRange> literals;
    while (take("-")) literals.push_back({'-', '-'});
    if (literals.empty() && take("]")) literals.push_back({']', ']'});
    return CodePointSet(std::move(literals));
  }

  CodePointSet read_item(int depth) {
    if (text_[at_] == '[') {
      if (const auto set = read_posix()) return *set;
      return read(depth + 1);
    }
    const ClassEscape first = read_one();
    if (first.set) return *first.set;
    const bool is_range =
        at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']' && text_[at_ + 1] != '-';
    if (!is_range) return {{first.code_point, first.code_point}};
    ++at_;
    const ClassEscape last = read_one();
    if (last.set || last.code_point < first.code_point)
      throw input_error("a range in brackets has no valid end");
    return {{first.code_point, last.code_point}};
  }

  ClassEscape read_one() {
    if (text_[at_] == '\\') return read_rust_escape(text_, at_, folds_);
    return {std::nullopt, take_character(text_, at_)};
  }

  std::optional<CodePointSet> read_posix() {
    const std::string_view rest = text_.substr(at_);
    const std::size_t end = rest.find(":]");
    if (!rest.starts_with("[:") || end == rest.npos) return std::nullopt;
    const bool is_negated = rest.starts_with("[:^");
    const std::string_view name = rest.substr(is_negated ? 3 : 2, end - (is_negated ? 3 : 2));
    for (const PosixClass& known : posix_classes()) {
      if (known.name != name) continue;
      at_ += end + 2;
      const CodePointSet set = folded(known.set);
      return is_negated ? ~set : set;
    }
    return std::nullopt;
  }

  CodePointSet folded(const CodePointSet& set) const { return folds_ ? with_other_cases(set) : set; }
  bool take(std::string_view what) { return tokenizer::take(text_, at_, what); }

  std::string_view text_;
  std::size_t& at_;
  bool folds_;
};

std::string written(char32_t code_point) {
  if ((code_point >= '0' && code_point <= '9') || (code_point >= 'A' && code_point <= 'Z') ||
      (code_point >= 'a' && code_point <= 'z'))
    return {static_cast<char>(code_point)};
  return fmt::format("\\x{{{:X}}}", std::uint32_t{code_point});
}

/// Returns the sets that patterns name most, the larger before their parts.
const std::vector<std::pair<CodePointSet, std::string>>& named_sets() {
  static const auto sets = [] {
    std::vector<std::pair<CodePointSet, std::string>> list = {{property("word"), "\\w"}};
    for (const std::string name : {"L", "M", "N", "P", "S", "Lu", "Ll", "Lt", "Lm", "Lo", "Han"})
      list.emplace_back(property(name), "\\p{" + name + "}");
    list.emplace_back(property("nd"), "\\d");
    list.emplace_back(property("whitespace"), "\\s");
    return list;
  }();
  return sets;
}

/// Returns what stands for a set within brackets. Surrogates are left out, since no text has them and
/// Oniguruma does not read them.
std::vector<std::string> parts_of(const CodePointSet& set) {
  std::vector<std::string> parts;
  CodePointSet rest = set - CodePointSet{{0xD800, 0xDFFF}};
  for (const auto& [known, name] : named_sets()) {
    const bool is_within = (known - set).ranges().empty();
    if (!is_within || (known & rest).ranges().empty()) continue;
    parts.push_back(name);
    rest = rest - known;
  }
  for (const CodePointRange& range : rest.ranges()) {
    parts.push_back(range.first == range.last ? written(range.first)
                                              : written(range.first) + "-" + written(range.last));
  }
  return parts;
}

}  // namespace

CodePointSet with_other_cases(const CodePointSet& set) {
  std::vector<CodePointRange> ranges = set.ranges();
  for (const auto& [code_point, orbit] : case_orbits()) {
    if (!set.contains(code_point)) continue;
    for (const char32_t member : orbit) ranges.push_back({member, member});
  }
  return CodePointSet(std::move(ranges));
}

ClassEscape read_rust_escape(std::string_view text, std::size_t& at, bool folds) {
  ++at;
  if (at >= text.size()) throw input_error("a backslash is the last character");
  const char letter = text[at];
  if (letter == 'p' || letter == 'P') return {read_property(text, at, folds), 0};
  if (const auto set = rust_class_of_letter(letter)) {
    ++at;
    return {set, 0};
  }
  if (letter == 'x' || letter == 'u' || letter == 'U') {
    ++at;
    return {std::nullopt, read_hexadecimal(text, at, letter == 'x' ? 2 : letter == 'u' ? 4 : 8)};
  }
  static const std::map<char, char32_t> controls = {{'a', 7},    {'b', 8},    {'f', 0xc}, {'n', '\n'},
                                                    {'r', '\r'}, {'t', '\t'}, {'v', 0xb}, {'e', 0x1b}};
  if (const auto control = controls.find(letter); control != controls.end()) {
    ++at;
    return {std::nullopt, control->second};
  }
  const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  if (is_letter || (letter >= '0' && letter <= '9')) throw input_error("\\{} is not supported", letter);
  return {std::nullopt, take_character(text, at)};
}

CodePointSet read_rust_class(std::string_view text, std::size_t& at, bool folds) {
  return ClassReader(text, at, folds).read(0);
}

std::string oniguruma_character(char32_t code_point) {
  const bool is_plain = code_point >= 0x80 || (code_point >= '0' && code_point <= '9') ||
                        (code_point >= 'A' && code_point <= 'Z') ||
                        (code_point >= 'a' && code_point <= 'z') || code_point == ' ' || code_point == '\'' ||
                        code_point == '"' || code_point == '_';
  if (is_plain) return to_utf8(code_point);
  if (code_point < 0x20 || code_point == 0x7f) return fmt::format("\\x{{{:X}}}", std::uint32_t{code_point});
  return std::string("\\") + static_cast<char>(code_point);
}

std::string oniguruma_class(const CodePointSet& set) {
  const std::vector<std::string> inside = parts_of(set), outside = parts_of(~set);
  if (inside.empty()) return "[a&&b]";  // no character
  if (outside.empty()) return "\\O";
  const bool is_negated = outside.size() < inside.size();
  // A single name needs no brackets, but \\w has a few more characters without them.
  const std::string& first = (is_negated ? outside : inside).front();
  if (std::min(inside.size(), outside.size()) == 1 && first[0] == '\\' && first[1] != 'w' &&
      first[1] != 'x') {
    std::string alone = first;
    if (is_negated) alone[1] = static_cast<char>(alone[1] - ('a' - 'A'));
    return alone;
  }
  std::string text = is_negated ? "[^" : "[";
  for (const std::string& part : is_negated ? outside : inside) text += part;
  return text + "]";
}

}  // namespace dt::tokenizer
