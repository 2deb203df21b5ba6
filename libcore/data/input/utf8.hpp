#pragma once
// UTF-8 in streams: validity of a part, and places where a part may end.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dt::data {

/// A byte order mark, which is skipped at the start of a text.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Returns whether a text is valid after RFC 3629: no surrogates, no overlong forms, no unfinished
/// character at the end.
bool is_valid_utf8(std::string_view text);

/// Returns the offset of the first byte that is not valid UTF-8, or none.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Returns the number of characters in valid UTF-8.
std::uint64_t num_characters(std::string_view text);

/// Returns the largest n ≤ text.size() at which a character may begin: the bytes after text[0, n)
/// are an unfinished character or nothing. Examines the last three bytes only.
std::size_t whole_characters(std::string_view text);

}  // namespace dt::data
