#pragma once
// Counter-based random numbers: a value is a pure function of (seed, name, index). Any rank
// generates its own part of any field, in any order.
// Numerics: every machine produces the same bits, by integers and IEEE double + - * / sqrt only,
// without libm.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace dt {

/// An unbounded indexed field of random values.
class RandomField {
 public:
  RandomField(std::uint64_t seed, std::string_view name);
  std::uint64_t bits(std::uint64_t index) const;
  /// Returns a value in [0, 1) with 53 random bits.
  double uniform(std::uint64_t index) const;
  /// Returns a standard normal value. Elements 2k and 2k+1 come from one polar draw.
  /// Numerics: the logarithm is an argument reduction and a series in double.
  /// Source: Marsaglia & Bray 1964.
  double normal(std::uint64_t index) const;
  /// Sets values[i] = mean + std · normal(first + i), rounded once to the element type.
  void fill_normal(std::uint64_t first, double mean, double std, std::span<float> values) const;
  void fill_normal(std::uint64_t first, double mean, double std, std::span<double> values) const;

  /// Returns the key of the field's Philox generator.
  const std::array<std::uint32_t, 2>& key() const { return key_; }

 private:
  std::array<std::uint32_t, 2> key_;
};

}  // namespace dt
