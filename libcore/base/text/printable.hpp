#pragma once
// Text and names from files, escaped for terminals and logs. A file's author must not be able to
// control the terminal: to move its cursor, change its colours or title, or reverse words. Nor may
// the author begin a line of a log.

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

/// Returns the text with terminal controls escaped. Control characters (C0 except newline and tab,
/// DEL, C1), line and paragraph separators and direction marks become \uHHHH. Bytes that are not
/// UTF-8 become \xHH. JSON stays JSON of the same meaning.
std::string printable(std::string_view text);

/// Limit on a line's length. printable_line() shortens longer text. A name may have a megabyte,
/// while paths end at 4,096 bytes.
inline constexpr std::size_t max_line_bytes = 8192;
/// Returns printable text for one line. Newlines and tabs become \n and \t. Text of more than
/// `max_bytes` loses its middle, and states the length left out. The end stays, since it says what
/// to do.
std::string printable_line(std::string_view text, std::size_t max_bytes = max_line_bytes);

}  // namespace dt
