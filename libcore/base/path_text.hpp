#pragma once
// Paths, and other words of a command line, in texts that must be UTF-8 (JSON, attributes of HDF5 files).

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

/// The bytes as UTF-8: a byte that is part of no valid UTF-8 becomes \xHH, with two capital hexadecimal
/// digits, and a backslash before "x" and two of those becomes \x5C, so that bytes_of() reads back what this
/// wrote. Other bytes stay what they are. FORMATS.md specifies it.
std::string utf8_of(std::string_view bytes);

/// Returns how many bytes the character has that `text` begins with, as RFC 3629 has it; 0 where it begins
/// with none.
std::size_t utf8_length(std::string_view text);

/// What utf8_of() was given.
std::string bytes_of(std::string_view utf8);

/// Returns whether a text can name a file beside the one that says it: not empty or hidden, without slashes
/// and NUL.
bool is_plain_name(std::string_view name);

}  // namespace dt
