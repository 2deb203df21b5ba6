#include "base/random.hpp"

#include <bit>
#include <cmath>

#include "base/digest.hpp"

namespace dt {

namespace {

// Kinds of draws that share a key.
constexpr std::uint32_t bits_stream = 0;
constexpr std::uint32_t normal_stream = 1;

constexpr double two_to_minus_52 = 0x1p-52;
constexpr double two_to_minus_53 = 0x1p-53;

inline void philox_round(std::array<std::uint32_t, 4>& c, std::uint32_t key_0, std::uint32_t key_1) {
  const std::uint64_t product_0 = std::uint64_t{0xD2511F53} * c[0];
  const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57} * c[2];
  c = {static_cast<std::uint32_t>(product_1 >> 32) ^ c[1] ^ key_0, static_cast<std::uint32_t>(product_1),
       static_cast<std::uint32_t>(product_0 >> 32) ^ c[3] ^ key_1, static_cast<std::uint32_t>(product_0)};
}

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    philox_round(counter, key[0], key[1]);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

inline std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return (std::uint64_t{high} << 32) | low;
}

inline std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
inline std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// Returns ln x of a normal positive x, to about one unit in the last place. x = m·2^e with m in
/// [√½, √2), and ln m = 2·atanh f = 2·(f + f³/3 + f⁵/5 + …) with f = (m − 1)/(m + 1), |f| ≤ 0.1716.
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

struct NormalPair {
  double even;
  double odd;
};

/// Returns two normal values by the polar method. Draws points until one lies inside the unit disc;
/// the attempt is part of the counter.
inline NormalPair normal_pair(std::uint64_t pair, std::array<std::uint32_t, 2> key) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    const auto words = philox({low_word(pair), high_word(pair), attempt, normal_stream}, key);
    const double u =
        static_cast<double>(static_cast<std::int64_t>(join(words[0], words[1])) >> 11) * two_to_minus_52;
    const double v =
        static_cast<double>(static_cast<std::int64_t>(join(words[2], words[3])) >> 11) * two_to_minus_52;
    const double s = u * u + v * v;
    if (s >= 1.0 || s == 0.0) continue;
    const double factor = std::sqrt(-2.0 * natural_log(s) / s);
    return {u * factor, v * factor};
  }
}

template <class T>
void fill(std::uint64_t first, double mean, double std, std::span<T> values,
          std::array<std::uint32_t, 2> key) {
  std::size_t i = 0;
  if (first % 2 == 1 && !values.empty()) {
    values[i++] = static_cast<T>(mean + std * normal_pair(first / 2, key).odd);
  }
  for (; i + 1 < values.size(); i += 2) {
    const NormalPair pair = normal_pair((first + i) / 2, key);
    values[i] = static_cast<T>(mean + std * pair.even);
    values[i + 1] = static_cast<T>(mean + std * pair.odd);
  }
  if (i < values.size()) values[i] = static_cast<T>(mean + std * normal_pair((first + i) / 2, key).even);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  return philox(counter, key);
}

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
  const NormalPair pair = normal_pair(index / 2, key_);
  return index % 2 == 0 ? pair.even : pair.odd;
}

void RandomField::fill_normal(std::uint64_t first, double mean, double std, std::span<float> values) const {
  fill(first, mean, std, values, key_);
}

void RandomField::fill_normal(std::uint64_t first, double mean, double std, std::span<double> values) const {
  fill(first, mean, std, values, key_);
}

}  // namespace dt
