#pragma once
// 16-bit floats, and conversion of fp64 to them.

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/numeric/dtype.hpp"

namespace dt::ptx {

/// Returns fp32 whose last digit is odd if any digits were lost. So a second rounding, to fewer digits,
/// gives the same as a single one.
inline float to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isfinite(nearest) && nearest != value) {
    if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
    bits |= 1;
  }
  return std::bit_cast<float>(bits);
}

/// Rounds to nearest.
template <class H>
H narrowed(double value) {
  return H(to_odd(value));
}

}  // namespace dt::ptx
