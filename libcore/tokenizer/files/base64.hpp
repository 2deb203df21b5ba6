#pragma once
// Bytes as text: RFC 4648's standard alphabet, with padding.

#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Returns the bytes that `text` encodes, or none if `text` is empty or not base64.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace dt::tokenizer
