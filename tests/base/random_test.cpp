#include "base/numeric/random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "base/numeric/digest.hpp"

using namespace dt;

namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32 with 10 rounds.
/// Source: Salmon et al. 2011, section 3.3.
Words philox4x32(Words c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * c[0], right = std::uint64_t{0xCD9E8D57} * c[2];
    const auto high = [](std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); };
    c = {high(right) ^ c[1] ^ key[0], static_cast<std::uint32_t>(right), high(left) ^ c[3] ^ key[1],
         static_cast<std::uint32_t>(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

std::array<std::uint32_t, 2> key_of(std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = digest(std::as_bytes(std::span(name)), seed);
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::vector<double> normals(const RandomField& field, std::size_t count) {
  std::vector<double> values(count);
  field.fill_normal(0, 0, 1, std::span(values));
  return values;
}

double moment(const std::vector<double>& values, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("philox gives Random123's known answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("bits are the first two words that philox gives for the index") {
  const RandomField field(7, "bits");
  for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x123456789ABCDEF0}}) {
    const Words words =
        philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0},
                   key_of(7, "bits"));
    CHECK(field.bits(index) == (std::uint64_t{words[1]} << 32 | words[0]));
  }
}

TEST_CASE("values depend on seed, name and index alone") {
  const RandomField field(1, "layers.0.attention.q.weight");
  CHECK(field.bits(5) == RandomField(1, "layers.0.attention.q.weight").bits(5));
  CHECK(field.bits(5) != field.bits(6));
  CHECK(field.bits(5) != RandomField(2, "layers.0.attention.q.weight").bits(5));
  CHECK(field.bits(5) != RandomField(1, "layers.1.attention.q.weight").bits(5));
  CHECK(field.bits(0) != field.bits(std::uint64_t{1} << 32));
}

TEST_CASE("filling slices gives the bits of filling the whole") {
  const RandomField field(42, "embedding.weight");
  std::vector<float> whole(3001);
  field.fill_normal(0, 0.5, 0.02, std::span(whole));
  for (const std::size_t part : {1, 2, 3, 7, 64, 333, 777}) {
    std::vector<float> pieces(whole.size());
    for (std::size_t begin = 0; begin < whole.size(); begin += part) {
      field.fill_normal(begin, 0.5, 0.02,
                        std::span(pieces).subspan(begin, std::min(part, whole.size() - begin)));
    }
    CHECK(pieces == whole);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    REQUIRE(whole[i] == static_cast<float>(0.5 + 0.02 * field.normal(i)));
  }
  field.fill_normal(3, 0, 1, std::span<float>());
}

TEST_CASE("indices beyond 32 bits have values of their own") {
  const RandomField field(0, "x");
  const std::uint64_t far = (std::uint64_t{1} << 40) + 1;
  std::vector<double> values(4);
  field.fill_normal(far, 0, 1, std::span(values));
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == field.normal(far + i));
  CHECK(values[0] != field.normal(1));
}

TEST_CASE("golden bits: every machine and every version makes these values") {
  const RandomField field(1234, "golden");
  CHECK(field.bits(0) == 0xb9c6e1ee30f18c0a);
  CHECK(std::bit_cast<std::uint64_t>(field.uniform(1)) == 0x3fe5d1c05291d18a);
  CHECK(std::bit_cast<std::uint64_t>(field.normal(0)) == 0xbff22d237c07c073);
  CHECK(std::bit_cast<std::uint64_t>(field.normal(1)) == 0x3ffbb5eac8e1f752);
  CHECK(std::bit_cast<std::uint64_t>(field.normal(1'000'000'007)) == 0x3ff28e3c8ab330ba);
  std::vector<float> values(100'000);
  field.fill_normal(0, 0, 0.02, std::span(values));
  std::uint64_t hash = 0;
  for (const float value : values) hash = hash * 0x9E3779B97F4A7C15 + std::bit_cast<std::uint32_t>(value);
  CHECK(hash == 0x8d07254851a4da38);
}

TEST_CASE("normal values are those of the polar method, to two units in the last place") {
  const RandomField field(3, "log");
  const auto key = key_of(3, "log");
  const auto coordinate = [](std::uint32_t low, std::uint32_t high) {
    return static_cast<double>(static_cast<std::int64_t>((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-52;
  };
  double worst = 0;
  for (std::uint32_t pair = 0; pair < 50'000; ++pair) {
    double u = 1;
    double s = 2;
    for (std::uint32_t attempt = 0; s >= 1; ++attempt) {
      const Words words = philox4x32({pair, 0, attempt, 1}, key);
      u = coordinate(words[0], words[1]);
      const double v = coordinate(words[2], words[3]);
      s = u * u + v * v;
    }
    const long double exact = u * std::sqrt(-2 * std::log(static_cast<long double>(s)) / s);
    const double error =
        static_cast<double>(std::abs((field.normal(2 * std::uint64_t{pair}) - exact) / exact));
    worst = std::max(worst, error);
  }
  CHECK(worst < 2 * 0x1p-52);
}

TEST_CASE("uniform values fill [0, 1) evenly") {
  const RandomField field(9, "uniform");
  constexpr int num_values = 200'000;
  std::array<int, 20> counts{};
  for (int i = 0; i < num_values; ++i) {
    const double x = field.uniform(static_cast<std::uint64_t>(i));
    REQUIRE(x >= 0);
    REQUIRE(x < 1);
    ++counts[static_cast<std::size_t>(x * 20)];
  }
  double chi_squared = 0;
  for (const int count : counts) chi_squared += std::pow(count - num_values / 20.0, 2) / (num_values / 20.0);
  CHECK(chi_squared < 43.8);  // 19 degrees of freedom, p = 0.001
}

TEST_CASE("normal values have the moments and the tails of the normal distribution") {
  constexpr std::size_t count = 2'000'000;
  const auto values = normals(RandomField(7, "moments"), count);
  const double n = static_cast<double>(count);
  CHECK(std::abs(moment(values, 1)) < 4 / std::sqrt(n));
  CHECK(std::abs(moment(values, 2) - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::abs(moment(values, 3)) < 4 * std::sqrt(15 / n));
  CHECK(std::abs(moment(values, 4) - 3) < 4 * std::sqrt(96 / n));
  for (const double bound : {0.5, 1.0, 2.0, 3.0, 4.0}) {
    const double p = std::erfc(bound / std::sqrt(2.0));
    const auto beyond =
        std::count_if(values.begin(), values.end(), [&](double x) { return std::abs(x) > bound; });
    INFO("beyond " << bound);
    CHECK(std::abs(static_cast<double>(beyond) - n * p) < 5 * std::sqrt(n * p) + 1);
  }
}

TEST_CASE("neighbours and fields are not correlated") {
  constexpr std::size_t count = 500'000;
  const auto a = normals(RandomField(7, "layers.0.weight"), count);
  const auto b = normals(RandomField(7, "layers.1.weight"), count);
  for (const std::size_t lag : {1, 2, 3, 64}) {
    double own = 0;
    double other = 0;
    for (std::size_t i = 0; i + lag < count; ++i) {
      own += a[i] * a[i + lag];
      other += a[i] * b[i + lag];
    }
    CHECK(std::abs(own) < 4.5 * std::sqrt(static_cast<double>(count)));
    CHECK(std::abs(other) < 4.5 * std::sqrt(static_cast<double>(count)));
  }
}
