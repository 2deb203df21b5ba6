#pragma once
// Reads values from a line of JSON without holding the rest of it. A value that is not requested
// takes no memory, however many parts it has.

#include <string>
#include <string_view>
#include <vector>

#include "data/input/conversation.hpp"

namespace dt::data {

/// A line that does not have the expected form.
struct BadLine {
  std::string what;
  std::string expected;
};

/// Depth limit; deeper lines are bad.
inline constexpr std::size_t max_line_depth = 512;

struct LineKeys {
  bool is_whole = false;          // true if the line is one JSON object
  std::vector<std::string> keys;  // the object's keys, up to the end or the first defect
};
LineKeys keys_of_line(std::string_view line);

/// Returns the string of the object's last member of this name.
/// Errors: throws BadLine.
std::string text_of_line(std::string_view line, const std::string& text_key);

/// Returns the turns of the object's last "messages", a list of objects with "role" and "content".
/// A role consists of letters, digits, _ and -. A content is a string, or a list of parts.
/// Concatenates the texts among the parts ({"type": "text", "text": …}) and skips other parts.
/// Leaves out a message without any text if it has a list of parts, or calls tools ("tool_calls",
/// "function_call") and its content is null or missing. "weight" may be 0 or 1. Skips other
/// members, such as names and ids of tool calls.
/// Errors: throws BadLine if the line has another form.
std::vector<Turn> turns_of_line(std::string_view line);

}  // namespace dt::data
