#pragma once
// A sum of doubles that is independent of the order of its terms. Any split over ranks and threads
// gives the same bits.

#include <array>
#include <cstdint>
#include <span>

namespace dt {

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
