#include "data/input/json_line.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace dt::data {

namespace {

using nlohmann::json;
using Type = json::value_t;

/// Returns the library's message without its prefix, which counts lines from the start of the given
/// text.
std::string reason_of(const nlohmann::detail::exception& error) {
  const std::string_view text = error.what();
  const std::size_t column = text.find("column ");
  return std::string(column == text.npos ? text.substr(text.find("] ") + 2) : text.substr(column));
}

std::string name_of(Type type) {
  return json(type).type_name();
}

/// Returns whether a number is one that other programs write and JSON readers reject: NaN,
/// Infinity, or one that may be too large for them.
bool is_odd_number(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  if (word == "NaN" || word == "Infinity") return true;
  const std::size_t exponent = word.find_first_of("eE");
  if (exponent == word.npos) return false;
  // JSON's grammar decides, applied with a small exponent.
  std::string_view digits = word.substr(exponent + 1);
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  constexpr std::size_t small = 3, short_number = 200;  // 10^99 × 10^200 is below the largest double
  if (digits.size() < small && exponent < short_number) return false;
  const bool is_whole = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  return is_whole && json::accept(std::string(word.substr(0, exponent)) + "e0");
}

/// Returns the code unit of an escape "\uXXXX" at the start of `text`, or none.
std::optional<unsigned> code_unit_at(std::string_view text) {
  constexpr std::size_t length = 6;
  if (text.size() < length || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const auto parsed = std::from_chars(text.data() + 2, text.data() + length, unit, 16);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + length ? std::optional(unit) : std::nullopt;
}

bool is_first_half(std::optional<unsigned> unit) {
  return unit && *unit >= 0xD800 && *unit < 0xDC00;
}
bool is_second_half(std::optional<unsigned> unit) {
  return unit && *unit >= 0xDC00 && *unit < 0xE000;
}

/// A line in a form that JSON readers accept.
struct ReadableLine {
  std::string text;
  /// Half surrogate pairs as the line writes them, by the number of their string, counting names of
  /// members. U+FFFD replaces each in `text`.
  std::map<std::size_t, std::string> halves;
};

/// Mends the string that begins at `begin`. Returns where it ends.
std::size_t mend_string(std::size_t begin, std::size_t number, ReadableLine& line) {
  constexpr std::size_t escape = 6;
  std::string& text = line.text;
  std::size_t i = begin + 1;
  while (i < text.size() && text[i] != '"') {
    if (text[i] != '\\') {
      ++i;
      continue;
    }
    const std::string_view rest = std::string_view(text).substr(i);
    const auto unit = code_unit_at(rest);
    if (is_first_half(unit) && is_second_half(code_unit_at(rest.substr(escape)))) {
      i += 2 * escape;
      continue;
    }
    if (is_first_half(unit) || is_second_half(unit)) {
      line.halves.emplace(number, rest.substr(0, escape));
      text.replace(i, escape, "\\ufffd");
    }
    i += 2;
  }
  return i + 1;
}

/// Returns the line with a 9 and blanks in place of each number for which is_odd_number() holds.
/// Everything else keeps its column. dt asks only for the value of a turn's weight, and 9 is not a
/// valid one.
ReadableLine readable(std::string_view line) {
  const auto is_in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  };
  ReadableLine result{std::string(line), {}};
  std::string& out = result.text;
  std::size_t num_strings = 0;
  for (std::size_t i = 0; i < out.size();) {
    if (out[i] == '"') {
      i = mend_string(i, num_strings++, result);
      continue;
    }
    const std::size_t begin = i;
    while (i < out.size() && is_in_word(out[i])) ++i;
    const std::size_t length = i - begin;
    if (length > 2 && is_odd_number(std::string_view(out).substr(begin, length)))
      out.replace(begin, length, "9" + std::string(length - 1, ' '));
    if (length == 0) ++i;
  }
  return result;
}

/// Returns the error about a text with half of a surrogate pair, which UTF-8 cannot express.
std::string half_problem(const std::string& half) {
  return fmt::format("contains {}, half of a surrogate pair, which is not a character", half);
}

/// Visits a line's values in order. The line's own value has depth 0, its members have depth 1.
class LineWalk : public json::json_sax_t {
 public:
  /// Walks the line. Returns the defect of its JSON, or "".
  std::string walk(std::string_view line) {
    json::json_sax_t* const events = this;
    const ReadableLine plain = readable(line);
    halves_ = &plain.halves;
    json::sax_parse(plain.text.data(), plain.text.data() + plain.text.size(), events);
    return std::move(error_);
  }

 protected:
  /// The value of a number, for at_value().
  double number_ = 0;
  /// Half of a surrogate pair in a value, for at_value(); "" if it has none.
  std::string half_;
  /// Called at the start of a value, with its text if it is a string.
  virtual void at_value(std::size_t depth, Type type, std::string* text) = 0;
  /// Called with a member's name, at its value's depth.
  virtual void at_key(std::size_t depth, const std::string& name) = 0;
  /// Called at the end of an object or a list.
  virtual void at_end(std::size_t depth) = 0;

 private:
  bool value(Type type, std::string* text = nullptr) {
    at_value(depth_, type, text);
    return true;
  }
  bool at_number(Type type, double number) {
    number_ = number;
    return value(type);
  }
  bool begin(Type type) {
    at_value(depth_, type, nullptr);
    if (++depth_ <= max_line_depth) return true;
    error_ = fmt::format("it nests more than {} levels deep", max_line_depth);
    return false;
  }
  bool end() {
    at_end(--depth_);
    return true;
  }

  bool null() final { return value(Type::null); }
  bool boolean(bool) final { return value(Type::boolean); }
  bool number_integer(std::int64_t number) final {
    return at_number(Type::number_integer, static_cast<double>(number));
  }
  bool number_unsigned(std::uint64_t number) final {
    return at_number(Type::number_unsigned, static_cast<double>(number));
  }
  bool number_float(double number, const std::string&) final { return at_number(Type::number_float, number); }
  bool string(std::string& text) final {
    const auto half = halves_->find(num_strings_++);
    half_ = half == halves_->end() ? "" : half->second;
    return value(Type::string, &text);
  }
  bool binary(json::binary_t&) final { return value(Type::binary); }
  bool start_object(std::size_t) final { return begin(Type::object); }
  bool end_object() final { return end(); }
  bool start_array(std::size_t) final { return begin(Type::array); }
  bool end_array() final { return end(); }
  bool key(std::string& name) final {
    ++num_strings_;
    at_key(depth_, name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) final {
    error_ = reason_of(error);
    return false;
  }

  std::size_t depth_ = 0;
  std::size_t num_strings_ = 0;
  const std::map<std::size_t, std::string>* halves_ = nullptr;
  std::string error_;
};

/// Walks a line that must be an object.
/// Errors: throws BadLine if it is not.
template <class Walk>
void walk_object(Walk& walk, std::string_view line, const std::string& expected) {
  if (const std::string error = walk.walk(line); !error.empty())
    throw BadLine{"invalid JSON: " + error, expected};
  if (walk.type != Type::object) throw BadLine{"the line is a JSON " + name_of(walk.type), expected};
}

struct TextWalk final : LineWalk {
  explicit TextWalk(const std::string& text_key) : text_key(text_key) {}
  void at_value(std::size_t depth, Type its_type, std::string* its_text) override {
    if (depth == 0) type = its_type;
    if (depth != 1 || !is_asked_for) return;
    text_type = its_type;
    if (its_text == nullptr) return;
    text = std::move(*its_text);
    half = half_;
  }
  void at_key(std::size_t depth, const std::string& name) override {
    if (depth == 1) is_asked_for = name == text_key;
  }
  void at_end(std::size_t) override {}

  const std::string& text_key;
  Type type = Type::null;  // type of the line's value
  bool is_asked_for = false;
  std::optional<Type> text_type;
  std::string text;
  std::string half;  // half of a surrogate pair in the text
};

struct KeysWalk final : LineWalk {
  void at_value(std::size_t depth, Type its_type, std::string*) override {
    if (depth == 0) type = its_type;
  }
  void at_key(std::size_t depth, const std::string& name) override {
    if (depth == 1) keys.push_back(name);
  }
  void at_end(std::size_t) override {}

  Type type = Type::null;  // type of the line's value
  std::vector<std::string> keys;
};

bool is_role(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

/// A message, collected during the walk.
struct Message {
  void at_value(std::size_t depth, Type type, std::string* text, double number, const std::string& its_half) {
    if (depth == 3) at_member(type, text, number);
    if (depth == 3 && key == "content") half = its_half;
    if (key != "content" || !is_parts) return;
    if (depth == 4 && text != nullptr) add(*text, its_half);  // a part that is only a text
    if (depth == 4) part_is_text = false, part_text.reset();
    if (depth == 5 && part_key == "type") part_is_text = text != nullptr && *text == "text";
    if (depth == 5 && part_key == "text" && text != nullptr)
      part_text = std::move(*text), part_half = its_half;
  }
  void at_key(std::size_t depth, const std::string& name) {
    if (depth == 3) key = name;
    if (depth == 5) part_key = name;
  }
  void at_end(std::size_t depth) {
    if (depth == 4 && key == "content" && is_parts && part_is_text && part_text) add(*part_text, part_half);
    if (depth == 4) part_is_text = false, part_text.reset();
  }
  bool has_no_text() const { return !content && (is_parts || calls_tools); }

  std::string key, part_key;  // keys of the present value
  std::optional<std::string> role, content;
  bool is_parts = false;  // the content is a list
  bool calls_tools = false;
  bool part_is_text = false;
  std::optional<std::string> part_text;
  std::string half, part_half;  // half of a surrogate pair in the content and in the part
  std::optional<double> weight;

 private:
  void at_member(Type type, std::string* text, double number) {
    if (key == "role") role = text == nullptr ? std::nullopt : std::optional(std::move(*text));
    if (key == "content") {
      is_parts = type == Type::array;
      content = text == nullptr ? std::nullopt : std::optional(std::move(*text));
    }
    if (key == "tool_calls" || key == "function_call")
      calls_tools = type == Type::array || type == Type::object;
    const bool is_number =
        type == Type::number_integer || type == Type::number_unsigned || type == Type::number_float;
    if (key == "weight" && type != Type::null) weight = is_number ? number : -1;
  }
  void add(const std::string& text, const std::string& its_half) {
    content = content.value_or("") + text;
    if (!its_half.empty()) half = its_half;
  }
};

/// Collects turns until one is wrong.
struct TurnsWalk final : LineWalk {
  void at_value(std::size_t depth, Type its_type, std::string* text) override {
    if (depth == 0) type = its_type;
    if (!is_messages) return;
    if (depth == 1) has_messages = its_type == Type::array;
    if (depth == 2) begin_message(its_type);
    message.at_value(depth, its_type, text, number_, text == nullptr ? "" : half_);
  }
  void at_key(std::size_t depth, const std::string& name) override {
    if (depth == 1) begin_member(name == "messages");
    message.at_key(depth, name);
  }
  void at_end(std::size_t depth) override {
    message.at_end(depth);
    if (depth == 2 && is_messages && has_messages) end_message();
  }

  void begin_member(bool its_messages) {
    is_messages = its_messages;
    if (!its_messages) return;
    turns.clear();
    num_messages = 0;
    bad.reset();
  }
  void begin_message(Type its_type) {
    message = {};
    if (its_type != Type::object && its_type != Type::array) end_message();
  }
  void end_message() {
    if (bad) return;
    const std::size_t number = num_messages++;
    const std::optional<std::string>& role = message.role;
    if (!role || (!message.content && !message.has_no_text())) {
      bad = BadLine{fmt::format("message {} has no {}", number, role ? "content" : "role"), ""};
    } else if (!is_role(*role)) {
      bad = BadLine{fmt::format("message {} has the role {:?}", number, *role),
                    "expected a name of letters, digits, _ and -"};
    } else if (message.weight && *message.weight != 0 && *message.weight != 1) {
      bad = BadLine{fmt::format("message {} has a weight other than 0 and 1", number), "expected 0 or 1"};
    } else if (message.content && !message.half.empty()) {
      bad = BadLine{fmt::format("the content of message {} {}", number, half_problem(message.half)),
                    "expected text"};
    } else if (message.content) {
      turns.push_back({*role, std::move(*message.content), message.weight != 0});
    }
  }

  Type type = Type::null;     // type of the line's value
  bool is_messages = false;   // the present member is "messages"
  bool has_messages = false;  // the last "messages" was a list
  std::size_t num_messages = 0;
  Message message;  // message in progress
  std::vector<Turn> turns;
  std::optional<BadLine> bad;
};

}  // namespace

LineKeys keys_of_line(std::string_view line) {
  KeysWalk walk;
  const bool is_json = walk.walk(line).empty();
  return {is_json && walk.type == Type::object, std::move(walk.keys)};
}

std::string text_of_line(std::string_view line, const std::string& text_key) {
  const std::string expected =
      fmt::format("expected one JSON object per line, with its text under \"{}\"", text_key);
  TextWalk walk(text_key);
  walk_object(walk, line, expected);
  if (!walk.text_type) throw BadLine{fmt::format("no key \"{}\"", text_key), expected + " (--text-key)"};
  if (*walk.text_type != Type::string)
    throw BadLine{fmt::format("\"{}\" is a JSON {}", text_key, name_of(*walk.text_type)),
                  "expected a string"};
  if (!walk.half.empty())
    throw BadLine{fmt::format("\"{}\" {}", text_key, half_problem(walk.half)), "expected text"};
  return std::move(walk.text);
}

std::vector<Turn> turns_of_line(std::string_view line) {
  const std::string expected =
      "expected one conversation per line: {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}, …]}";
  TurnsWalk walk;
  walk_object(walk, line, expected);
  if (!walk.has_messages) throw BadLine{"no \"messages\"", expected};
  if (walk.bad) throw BadLine{walk.bad->what, walk.bad->expected.empty() ? expected : walk.bad->expected};
  return std::move(walk.turns);
}

}  // namespace dt::data
