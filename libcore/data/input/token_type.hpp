#pragma once
// Number formats in files of token ids.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dt::data {

/// Storage of a token id, little-endian.
enum class TokenType { u8, i8, i16, u16, i32, u32, i64 };

std::size_t token_bytes(TokenType type);
/// Returns the type for NumPy's name ("<u2").
std::optional<TokenType> token_type_of_numpy(const std::string& name);
/// Returns the type for Megatron's code.
std::optional<TokenType> token_type_of_megatron(std::uint8_t code);

}  // namespace dt::data
