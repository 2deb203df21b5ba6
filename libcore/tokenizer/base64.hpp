#pragma once
// Bytes as text: RFC 4648's standard alphabet, with padding.

#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Nothing where `text` is no base64, or empty.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace dt::tokenizer
