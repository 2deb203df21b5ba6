#pragma once
// What a line of JSON says, read without holding the rest of it: a value that nobody asks for takes no
// memory, however many parts it has.

#include <string>
#include <string_view>
#include <vector>

#include "data/conversation.hpp"

namespace dt::data {

/// A line that is not what it should be.
struct BadLine {
  std::string what;
  std::string expected;
};

/// Lines that nest deeper are bad ones.
inline constexpr std::size_t max_line_depth = 512;

struct LineKeys {
  bool is_whole = false;          // the line is one JSON object
  std::vector<std::string> keys;  // its own, up to the end or what is wrong
};
LineKeys keys_of_line(std::string_view line);

/// The string under the last of the object's keys of this name. Throws BadLine.
std::string text_of_line(std::string_view line, const std::string& text_key);

/// The turns of the object's last "messages", a list of objects with a role, of letters, digits, _ and -, and
/// a content: a string, or a list of parts, of which the texts ({"type": "text", "text": …}) follow each
/// other and others are passed over. A message without any text is left out where it has a list of parts, or
/// calls tools ("tool_calls", "function_call") and its content is null or missing. "weight" may be 0 or 1;
/// other members, such as names and the ids of tools' calls, are passed over. Throws BadLine for what is
/// none.
std::vector<Turn> turns_of_line(std::string_view line);

}  // namespace dt::data
