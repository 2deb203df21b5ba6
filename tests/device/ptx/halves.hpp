#pragma once
// 16-bit floats, and fp64 that becomes one.

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/half.hpp"

namespace dt::ptx {

/// fp32 whose last digit is odd where any were lost: rounded again to fewer digits it is rounded once.
inline float to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isfinite(nearest) && nearest != value) {
    if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
    bits |= 1;
  }
  return std::bit_cast<float>(bits);
}

/// To nearest.
template <class H>
H narrowed(double value) {
  return H(to_odd(value));
}

}  // namespace dt::ptx
