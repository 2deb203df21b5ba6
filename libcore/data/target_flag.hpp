#pragma once
// Tokens that a model reads and is not asked to predict.

#include <cstdint>

namespace dt::data {

/// Set in a token that is no target. Tokens are below it: as the int32 of a label, such a one is negative.
inline constexpr std::uint32_t not_a_target = 0x80000000;

inline std::uint32_t token_of(std::uint32_t stored) {
  return stored & ~not_a_target;
}

inline bool is_target(std::uint32_t stored) {
  return (stored & not_a_target) == 0;
}

}  // namespace dt::data
