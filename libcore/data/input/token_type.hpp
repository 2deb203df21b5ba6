#pragma once
// How files of token ids store a number.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dt::data {

/// Little-endian.
enum class TokenType { u8, i8, i16, u16, i32, u32, i64 };

std::size_t token_bytes(TokenType type);
/// As NumPy's header has it ("<u2").
std::optional<TokenType> token_type_of_numpy(const std::string& name);
/// As Megatron's index has it.
std::optional<TokenType> token_type_of_megatron(std::uint8_t code);

}  // namespace dt::data
