#pragma once
// Text and names from files, escaped for terminals and logs. The writer of a file must not be able to move
// the cursor, colour or retitle the terminal, reverse the order of words, or begin a line of a log.

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

/// Returns the text with what a terminal obeys escaped: control characters (C0 but newline and tab, DEL, C1),
/// line and paragraph separators and marks of direction as \uHHHH, bytes that are not UTF-8 as \xHH. JSON
/// stays JSON of the same meaning.
std::string printable(std::string_view text);

/// Longer messages are cut: a name may have a megabyte. Paths end at 4,096 bytes.
inline constexpr std::size_t max_line_bytes = 8192;
/// Returns printable text for one line: newlines and tabs become \n and \t, and where there are more than
/// `max_bytes`, the middle is left out, and how much. The end stays, since it says what to do.
std::string printable_line(std::string_view text, std::size_t max_bytes = max_line_bytes);

}  // namespace dt
