#pragma once
// Counter-based random numbers: a value is a pure function of (seed, name, index), so any rank makes its own
// part of any field, in any order, and every machine makes the same bits: integers and IEEE double + - * /
// sqrt only, no libm.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace dt {

/// Philox4x32 with 10 rounds. Source: Salmon et al. 2011, section 3.3; test vectors from Random123.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// An endless indexed field of random values.
class RandomField {
 public:
  RandomField(std::uint64_t seed, std::string_view name);
  std::uint64_t bits(std::uint64_t index) const;
  /// In [0, 1), 53 bits.
  double uniform(std::uint64_t index) const;
  /// Standard normal. Elements 2k and 2k+1 come from one polar draw (Marsaglia & Bray 1964), its logarithm by
  /// an argument reduction and a series in double.
  double normal(std::uint64_t index) const;
  /// values[i] = mean + std · normal(first + i), rounded once to the element type.
  void fill_normal(std::uint64_t first, double mean, double std, std::span<float> values) const;
  void fill_normal(std::uint64_t first, double mean, double std, std::span<double> values) const;

 private:
  std::array<std::uint32_t, 2> key_;
};

}  // namespace dt
