#pragma once
// A sum of doubles that is independent of the order of its terms. Any split over ranks and threads
// gives the same bits.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace dt {

/// A double as the integers that exact sums add: a fixed-point number in units of 2^-1074, the smallest
/// double. Its mantissa occupies three consecutive 32-bit digits. A non-finite value has no digits.
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

/// A fixed-point number wide enough for every finite double (Kulisch's long accumulator), in 32-bit
/// digits held by 64-bit integers. Adding is exact. Sums of sums are elementwise integer sums,
/// which an all-reduce can compute. The object propagates carries when they are due, so any number
/// of terms may be added. It counts NaN and infinite terms separately.
/// Source: Kulisch 2013, "Computer Arithmetic and Validity", chapter 8.
class ExactSum {
 public:
  static constexpr int num_digits = 68;
  void add(double term);
  void add(std::span<const double> terms);
  void merge(const ExactSum& other);
  /// Adds the digits that add_to_digits() produced.
  void add_digits(std::span<const std::int64_t, num_digits + 1> digits);
  /// Adds at most 2^30 terms to digits that were zero, without propagating carries.
  static void add_to_digits(std::span<const double> terms, std::span<std::int64_t, num_digits + 1> digits);
  /// Returns the sum, rounded once to double (to nearest, ties to even). Returns NaN if any term
  /// was not finite.
  double value() const;

  /// Returns num_digits + 1 integers for an all-reduce by integer addition over at most 2^30 ranks.
  /// The last counts non-finite terms. The call propagates carries.
  std::span<std::int64_t> digits();
  std::span<const std::int64_t> digits() const { return digits_; }

 private:
  void normalize();
  std::array<std::int64_t, num_digits + 1> digits_{};
  std::int64_t pending_ = 0;  // terms since carries were propagated
};

}  // namespace dt
