#include "base/numeric/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/numeric/digest.hpp"
#include "base/numeric/philox.hpp"

namespace dt {

namespace {

// Kinds of draws that share a key.
constexpr std::uint32_t bits_stream = 0;
constexpr std::uint32_t normal_stream = 1;

constexpr double two_to_minus_52 = 0x1p-52;
constexpr double two_to_minus_53 = 0x1p-53;

inline std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return (std::uint64_t{high} << 32) | low;
}

inline std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
inline std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// Returns ln x of a normal positive x, to about one unit in the last place:
///   x = m·2^e with m in [√½, √2)
///   ln m = 2·atanh f = 2·(f + f³/3 + f⁵/5 + …) with f = (m − 1)/(m + 1), |f| ≤ 0.1716
/// The term in f²³ is below 2⁻⁶⁰.
inline double natural_log(double x) {
  constexpr std::uint64_t sqrt_half_bits = 0x3FE6A09E667F3BCD;
  constexpr double ln2_high = 0x1.62e42fee00000p-1;  // trailing zeros make e·ln2_high exact
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) - sqrt_half_bits;
  const auto exponent = static_cast<std::int32_t>(static_cast<std::int64_t>(shifted) >> 52);
  const double m = std::bit_cast<double>((shifted & 0x000FFFFFFFFFFFFF) + sqrt_half_bits);
  const double f = (m - 1.0) / (m + 1.0);
  const double z = f * f;
  double series = 1.0 / 21;
  series = series * z + 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z;
  const double e = exponent;
  return e * ln2_high + (2.0 * f + (2.0 * f * series + e * ln2_low));
}

// Normal values are made a block at a time, in loops whose iterations do not depend on each other, so that
// the compiler vectorizes them. This file is compiled with -fno-math-errno, without which square roots
// prevent it.
constexpr std::size_t block = 256;

/// Returns a number in [-1, 1) made of 53 of the 64 bits. Both terms and their sum are exact.
inline double signed_unit(std::uint32_t low, std::uint32_t high) {
  const double of_high = static_cast<std::int32_t>(high);
  const double of_low = static_cast<std::int32_t>(low >> 11);
  return (of_high * 0x1p21 + of_low) * two_to_minus_52;
}

/// Points of the square, and the squares of their distances from its centre.
struct Points {
  std::array<double, block> u, v, s;

  bool is_outside(std::size_t i) const { return s[i] >= 1.0 || s[i] == 0.0; }

  /// Draws a point for each of `count` pairs.
  void draw(const std::array<std::uint64_t, block>& pairs, std::size_t count, std::uint32_t attempt,
            PhiloxKey key) {
    std::array<std::array<std::uint32_t, block>, 4> c;
    for (std::size_t i = 0; i < count; ++i) {
      c[0][i] = low_word(pairs[i]), c[1][i] = high_word(pairs[i]);
      c[2][i] = attempt, c[3][i] = normal_stream;
    }
    for (int round = 0; round < philox_rounds; ++round, advance_philox_key(key)) {
      for (std::size_t i = 0; i < count; ++i) {
        PhiloxWords counter{c[0][i], c[1][i], c[2][i], c[3][i]};
        philox_round(counter, key[0], key[1]);
        c[0][i] = counter[0], c[1][i] = counter[1], c[2][i] = counter[2], c[3][i] = counter[3];
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      u[i] = signed_unit(c[0][i], c[1][i]);
      v[i] = signed_unit(c[2][i], c[3][i]);
      s[i] = u[i] * u[i] + v[i] * v[i];
    }
  }
};

/// Writes the normal values of pairs first, first + 1, … by the polar method: the even ones to points.u, the
/// odd ones to points.v. Draws a pair's point until it lies inside the unit disc; the attempt is part of the
/// counter.
void normal_pairs(std::uint64_t first, std::size_t count, PhiloxKey key, Points& points) {
  std::array<std::uint64_t, block> pairs;
  std::array<std::size_t, block> outside;
  for (std::size_t i = 0; i < count; ++i) pairs[i] = first + i;
  points.draw(pairs, count, 0, key);
  std::size_t num_outside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    outside[num_outside] = i;
    num_outside += points.is_outside(i) ? 1 : 0;
  }
  Points again;
  for (std::uint32_t attempt = 1; num_outside > 0; ++attempt) {
    const std::size_t drawn = std::exchange(num_outside, 0);
    for (std::size_t i = 0; i < drawn; ++i) pairs[i] = first + outside[i];
    again.draw(pairs, drawn, attempt, key);
    for (std::size_t i = 0; i < drawn; ++i) {
      const std::size_t at = outside[i];
      points.u[at] = again.u[i], points.v[at] = again.v[i], points.s[at] = again.s[i];
      outside[num_outside] = at;
      num_outside += again.is_outside(i) ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double factor = std::sqrt(-2.0 * natural_log(points.s[i]) / points.s[i]);
    points.u[i] *= factor;
    points.v[i] *= factor;
  }
}

template <class T>
void fill(std::uint64_t first, double mean, double std, std::span<T> values, PhiloxKey key) {
  Points points;
  while (!values.empty()) {
    const std::size_t skipped = first % 2;
    const std::size_t count = std::min(2 * block - skipped, values.size());
    normal_pairs(first / 2, (skipped + count + 1) / 2, key, points);
    const auto value = [&](const std::array<double, block>& normal, std::size_t pair) {
      return static_cast<T>(mean + std * normal[pair]);
    };
    if (skipped == 1) values[0] = value(points.v, 0);
    const std::span<T> whole = values.subspan(skipped, count - skipped);
    for (std::size_t i = 0; i < whole.size() / 2; ++i) {
      whole[2 * i] = value(points.u, skipped + i);
      whole[2 * i + 1] = value(points.v, skipped + i);
    }
    if (whole.size() % 2 == 1) whole.back() = value(points.u, skipped + whole.size() / 2);
    values = values.subspan(count);
    first += count;
  }
}

}  // namespace

RandomField::RandomField(std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = digest(std::as_bytes(std::span(name)), seed);
  key_ = {low_word(key), high_word(key)};
}

std::uint64_t RandomField::bits(std::uint64_t index) const {
  const auto words = philox({low_word(index), high_word(index), 0, bits_stream}, key_);
  return join(words[0], words[1]);
}

double RandomField::uniform(std::uint64_t index) const {
  return static_cast<double>(bits(index) >> 11) * two_to_minus_53;
}

double RandomField::normal(std::uint64_t index) const {
  Points points;
  normal_pairs(index / 2, 1, key_, points);
  return index % 2 == 0 ? points.u[0] : points.v[0];
}

void RandomField::fill_normal(std::uint64_t first, double mean, double std, std::span<float> values) const {
  fill(first, mean, std, values, key_);
}

void RandomField::fill_normal(std::uint64_t first, double mean, double std, std::span<double> values) const {
  fill(first, mean, std, values, key_);
}

}  // namespace dt
