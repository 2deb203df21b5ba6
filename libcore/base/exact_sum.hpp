#pragma once
// A sum of doubles that does not depend on the order of its terms, so that any split over ranks and threads
// gives the same bits.

#include <array>
#include <cstdint>
#include <span>

namespace dt {

/// A fixed-point number wide enough for every finite double, in 32-bit digits held by 64-bit integers
/// (Kulisch's long accumulator); adding is exact, and sums of sums are elementwise integer sums, which an
/// all-reduce can do. Carries are brought up when they are due, so any number of terms may be added. NaN and
/// infinities are remembered. Source: Kulisch 2013, "Computer Arithmetic and Validity", chapter 8.
class ExactSum {
 public:
  static constexpr int num_digits = 68;
  void add(double term);
  void add(std::span<const double> terms);
  void merge(const ExactSum& other);
  /// What add_to_digits left.
  void add_digits(std::span<const std::int64_t, num_digits + 1> digits);
  /// Adds terms without bringing up carries: 2^30 of them at most, to digits that were zero.
  static void add_to_digits(std::span<const double> terms, std::span<std::int64_t, num_digits + 1> digits);
  /// The sum, rounded once to double (to nearest, ties to even). Not-a-number where any term was not finite.
  double value() const;

  /// For an all-reduce by integer addition over up to 2^30 ranks: num_digits + 1 integers, the last counts
  /// non-finite terms. Asking for them brings up the carries.
  std::span<std::int64_t> digits();
  std::span<const std::int64_t> digits() const { return digits_; }

 private:
  void normalize();
  std::array<std::int64_t, num_digits + 1> digits_{};
  std::int64_t pending_ = 0;  // terms since the carries were brought up
};

}  // namespace dt
