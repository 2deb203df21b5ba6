#pragma once
// A double as the integers that exact sums add. It has its own header because GPU kernels use it,
// too.

#include <bit>
#include <cstdint>

namespace dt {

/// A double as a fixed-point number in units of 2^-1074, the smallest double. Its mantissa occupies
/// three consecutive 32-bit digits. A non-finite value has no digits.
struct ExactTerm {
  bool is_finite = true;
  int first = 0;  // index of the lowest digit
  std::int64_t digits[3] = {};
};

constexpr ExactTerm exact_term(double term) {
  constexpr int digit_bits = 32;
  const auto bits = std::bit_cast<std::uint64_t>(term);
  const int exponent = static_cast<int>((bits >> 52) & 0x7FF);
  if (exponent == 0x7FF) return {.is_finite = false};
  const std::uint64_t fraction = bits & 0x000FFFFFFFFFFFFF;
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << 52);
  const int position = exponent == 0 ? 0 : exponent - 1;  // position of the mantissa's lowest bit
  const int shift = position % digit_bits;
  const std::uint64_t low = mantissa << shift;
  const std::uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);
  const std::int64_t sign = (bits >> 63) != 0 ? -1 : 1;
  return {.first = position / digit_bits,
          .digits = {sign * static_cast<std::int64_t>(low & 0xFFFFFFFF),
                     sign * static_cast<std::int64_t>(low >> 32), sign * static_cast<std::int64_t>(high)}};
}

}  // namespace dt
