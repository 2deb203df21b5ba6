#pragma once
// Numbers as people write and read them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// "64Mi" → 67108864; K M G T are powers of 1000, Ki Mi Gi Ti of 1024. Error{usage}: anything else.
std::int64_t parse_count(std::string_view text);
/// "90", "90s", "5m", "2h", "1d" → seconds. Error{usage}: anything else.
double parse_duration(std::string_view text);
/// "1.5 GiB"
std::string format_bytes(std::uint64_t bytes);
/// "1,234,567"
std::string format_count(std::uint64_t count);
/// "1:02:03", "42 s" or "1.5 s"
std::string format_duration(double seconds);
/// 1-based line of a byte offset in a text.
std::size_t line_at(std::string_view text, std::size_t offset);
/// The parts between separators, empty ones too; an empty text has no parts.
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// Columns that UTF-8 text takes on a terminal, one a code point.
std::size_t display_width(std::string_view text);
/// Columns padded to their widest cell; numbers (all cells of a column after the first row start with a digit
/// or '-') right-aligned. The first row is the heading. Cells are printable_line() of what is given.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace dt
