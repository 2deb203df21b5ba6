#pragma once
// Tokens that a model reads but does not learn to predict.

#include <cstdint>

namespace dt::data {

/// Bit set in a token that is not a target. Token ids are smaller, so that as an int32 label such a
/// token is negative.
inline constexpr std::uint32_t not_a_target = 0x80000000;

inline std::uint32_t token_of(std::uint32_t stored) {
  return stored & ~not_a_target;
}

inline bool is_target(std::uint32_t stored) {
  return (stored & not_a_target) == 0;
}

}  // namespace dt::data
