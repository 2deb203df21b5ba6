#include "base/numeric/exact_sum.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace dt {

namespace {

constexpr int digit_bits = 32;
constexpr std::int64_t digit_mask = 0xFFFFFFFF;
constexpr int lowest_exponent = -1074;  // digit 0 counts units of 2^-1074, the smallest double
constexpr int mantissa_bits = 53;

/// Number of terms before carries must be propagated. Each term moves a digit by less than 2^32, so
/// digits stay far from overflow.
constexpr std::int64_t max_pending = std::int64_t{1} << 30;

std::uint64_t digit(std::span<const std::int64_t> digits, int i) {
  return static_cast<std::uint64_t>(digits[static_cast<std::size_t>(i)]);
}

/// Returns the 53 bits from bit `from` of non-negative normalized digits.
std::uint64_t bits_at(std::span<const std::int64_t> digits, int from) {
  const int shift = from % digit_bits;
  const int first = from / digit_bits;
  std::uint64_t bits = digit(digits, first) >> shift;
  int filled = digit_bits - shift;
  for (int i = first + 1; i < ExactSum::num_digits && filled < mantissa_bits; ++i) {
    bits |= digit(digits, i) << filled;
    filled += digit_bits;
  }
  return bits & ((std::uint64_t{1} << mantissa_bits) - 1);
}

bool any_bit_below(std::span<const std::int64_t> digits, int bit) {
  const int whole = bit / digit_bits;
  for (int i = 0; i < whole; ++i) {
    if (digit(digits, i) != 0) return true;
  }
  return (digit(digits, whole) & ((std::uint64_t{1} << (bit % digit_bits)) - 1)) != 0;
}

int highest_bit(std::span<const std::int64_t> digits) {
  for (int i = ExactSum::num_digits - 1; i >= 0; --i) {
    if (const std::uint64_t d = digit(digits, i); d != 0) return i * digit_bits + std::bit_width(d) - 1;
  }
  return -1;
}

/// Rounds non-negative normalized digits to double.
double round_to_double(std::span<const std::int64_t> digits) {
  const int top = highest_bit(digits);
  if (top < 0) return 0;
  // A number of at most 53 bits above 2^-1074 is exactly a double, even if subnormal.
  if (top < mantissa_bits) return std::ldexp(static_cast<double>(bits_at(digits, 0)), lowest_exponent);
  const int lowest_kept = top - (mantissa_bits - 1);
  std::uint64_t mantissa = bits_at(digits, lowest_kept);
  const bool half = (bits_at(digits, lowest_kept - 1) & 1) != 0;
  if (half && (any_bit_below(digits, lowest_kept - 1) || (mantissa & 1) != 0)) ++mantissa;
  return std::ldexp(static_cast<double>(mantissa), lowest_kept + lowest_exponent);
}

}  // namespace

void ExactSum::add(double term) {
  if (pending_ >= max_pending) normalize();
  ++pending_;
  add_to_digits({&term, 1}, digits_);
}

void ExactSum::add_to_digits(std::span<const double> terms, std::span<std::int64_t, num_digits + 1> digits) {
  for (const double value : terms) {
    const ExactTerm term = exact_term(value);
    if (!term.is_finite) ++digits[num_digits];
    for (std::size_t i = 0; i < 3; ++i) digits[static_cast<std::size_t>(term.first) + i] += term.digits[i];
  }
}

void ExactSum::add_digits(std::span<const std::int64_t, num_digits + 1> digits) {
  normalize();
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += digits[i];
  normalize();
}

void ExactSum::add(std::span<const double> terms) {
  for (const double term : terms) add(term);
}

void ExactSum::normalize() {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < num_digits; ++i) {
    const std::int64_t digit = digits_[i] + carry;
    digits_[i] = digit & digit_mask;
    carry = digit >> digit_bits;  // towards minus infinity, so that digits stay non-negative
  }
  digits_[num_digits - 1] += carry;  // the last digit keeps the sign
  pending_ = 0;
}

std::span<std::int64_t> ExactSum::digits() {
  normalize();
  pending_ = max_pending;  // an all-reduce may write any digits here
  return digits_;
}

void ExactSum::merge(const ExactSum& other) {
  ExactSum normal = other;
  normal.normalize();
  if (pending_ >= max_pending) normalize();
  ++pending_;
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += normal.digits_[i];
}

double ExactSum::value() const {
  if (digits_[num_digits] != 0) return std::numeric_limits<double>::quiet_NaN();
  ExactSum sum = *this;
  sum.normalize();
  if (sum.digits_[num_digits - 1] >= 0) return round_to_double(sum.digits_);
  for (std::int64_t& digit : sum.digits_) digit = -digit;
  sum.normalize();
  return -round_to_double(sum.digits_);
}

}  // namespace dt
