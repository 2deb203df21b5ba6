#pragma once
// Text that people read: numbers, tables and plurals.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns the value of a count: "64Mi" is 67108864. K M G T are powers of 1000, Ki Mi Gi Ti of
/// 1024.
/// Errors: usage for anything else.
std::int64_t parse_count(std::string_view text);
/// Returns the seconds of a duration: "90", "90s", "5m", "2h" or "1d".
/// Errors: usage for anything else.
double parse_duration(std::string_view text);
/// Returns a size, such as "1.5 GiB".
std::string format_bytes(std::uint64_t bytes);
/// Returns a count with separators, such as "1,234,567".
std::string format_count(std::uint64_t count);
/// Returns a duration, such as "1:02:03", "42 s" or "1.5 s".
std::string format_duration(double seconds);
/// Returns the line, counted from 1, of a byte offset in a text.
std::size_t line_at(std::string_view text, std::size_t offset);
/// Returns the parts between separators, including empty ones. An empty text has no parts.
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// Returns the columns that UTF-8 text takes on a terminal, one per code point.
std::size_t display_width(std::string_view text);
/// Returns columns padded to their widest cell. Columns of numbers, whose cells after the first row
/// all start with a digit or '-', are right-aligned. The first row is the heading. Cells are
/// printed as printable_line().
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// Returns a count with its noun, such as "1 file" or "12,000 files".
template <class Count>
std::string pluralize(Count count, std::string_view singular) {
  std::string text = format_count(static_cast<std::uint64_t>(count)).append(" ").append(singular);
  return count == 1 ? text : text + "s";
}

/// Returns `one` for 1 and `many` for all other counts, such as "is" and "are".
template <class Count>
constexpr std::string_view plural_form(Count count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace dt
