#pragma once
// Paths, and other words of a command line, in texts that must be UTF-8 (JSON, attributes of HDF5
// files).

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

/// Returns the bytes as UTF-8. A byte outside valid UTF-8 becomes \xHH, with two capital
/// hexadecimal digits. A backslash before "x" and two such digits becomes \x5C, so that bytes_of()
/// restores the input. Other bytes stay unchanged. FORMATS.md specifies the encoding.
std::string escape_invalid_utf8(std::string_view bytes);

/// Returns the length in bytes of the character at the start of `text`, after RFC 3629. Returns 0
/// if there is no valid character.
std::size_t utf8_sequence_length(std::string_view text);

/// Returns the bytes that escape_invalid_utf8() encoded.
std::string unescape_bytes(std::string_view utf8);

/// Returns whether a text can name a file in the same folder: not empty or hidden, without slashes
/// and NUL.
bool is_plain_file_name(std::string_view name);

}  // namespace dt
