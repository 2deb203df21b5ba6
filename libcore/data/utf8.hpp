#pragma once
// UTF-8 as a stream meets it: is a part valid, and where may a part end.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dt::data {

/// Left out where it begins a text.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// As RFC 3629 has it: no surrogates, no overlong forms, no unfinished character at the end.
bool is_valid_utf8(std::string_view text);

/// The offset of the first byte that is not valid UTF-8, if there is one.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Of valid UTF-8.
std::uint64_t num_characters(std::string_view text);

/// The largest n ≤ text.size() at which a character may begin: what follows text[0, n) is an unfinished
/// character or nothing. Does not look at the bytes before the last three.
std::size_t whole_characters(std::string_view text);

}  // namespace dt::data
