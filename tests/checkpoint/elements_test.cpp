#include "checkpoint/elements.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

namespace dt::checkpoint {
namespace {

template <class T>
std::vector<T> converted(DType from, const std::vector<std::uint16_t>& bits) {
  std::vector<T> values(bits.size());
  copy_elements(from, reinterpret_cast<const std::byte*>(bits.data()), dtype_of<T>(),
                reinterpret_cast<std::byte*>(values.data()), static_cast<std::int64_t>(bits.size()));
  return values;
}

TEST_CASE("halves become the numbers that they stand for") {
  const std::vector<std::uint16_t> f16 = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400,
                                          0x03ff, 0x3555, 0x7c00, 0xfc00};
  const std::vector<double> expected = {1,
                                        -2,
                                        65504,
                                        std::ldexp(1, -24),
                                        std::ldexp(1, -14),
                                        std::ldexp(1023, -24),
                                        0.333251953125,
                                        HUGE_VAL,
                                        -HUGE_VAL};
  CHECK(converted<double>(DType::f16, f16) == expected);
  CHECK(std::signbit(converted<float>(DType::f16, {0x8000})[0]));
  CHECK(std::isnan(converted<float>(DType::f16, {0x7e01})[0]));
  CHECK(converted<float>(DType::bf16, {0x3f80, 0xc040, 0x0001}) ==
        std::vector<float>{1, -3, std::ldexp(1.0f, -133)});
}

TEST_CASE("doubles become floats by rounding to nearest, floats doubles exactly, from any address") {
  const double value = 0.1;
  std::byte raw[9];
  std::memcpy(raw + 1, &value, 8);
  float single = 0;
  copy_elements(DType::f64, raw + 1, DType::f32, reinterpret_cast<std::byte*>(&single), 1);
  CHECK(single == 0.1f);
  double back = 0;
  copy_elements(DType::f32, reinterpret_cast<const std::byte*>(&single), DType::f64,
                reinterpret_cast<std::byte*>(&back), 1);
  CHECK(back == static_cast<double>(0.1f));
}

TEST_CASE("integers convert to nothing but themselves") {
  CHECK(is_convertible(DType::i64, DType::i64));
  CHECK_FALSE(is_convertible(DType::i64, DType::f32));
  CHECK_FALSE(is_convertible(DType::i64, DType::bf16));
  CHECK(is_convertible(DType::bf16, DType::f64));
  CHECK(is_convertible(DType::f32, DType::f16));
}

template <class From>
std::vector<std::uint16_t> halves(DType to, const std::vector<From>& values) {
  std::vector<std::uint16_t> bits(values.size());
  copy_elements(dtype_of<From>(), reinterpret_cast<const std::byte*>(values.data()), to,
                reinterpret_cast<std::byte*>(bits.data()), static_cast<std::int64_t>(values.size()));
  return bits;
}

TEST_CASE("16 bits are the nearest, of two as near the even one") {
  const float inf = HUGE_VALF;
  const float tiny = std::ldexp(1.0f, -24);
  CHECK(
      halves<float>(DType::bf16, {1, -3, 1 + std::ldexp(1.0f, -8), 1 + std::ldexp(3.0f, -8), 3.4e38f, inf}) ==
      std::vector<std::uint16_t>{0x3f80, 0xc040, 0x3f80, 0x3f82, 0x7f80, 0x7f80});
  CHECK(halves<float>(DType::f16, {1, -2, 1 + std::ldexp(1.0f, -11), 1 + std::ldexp(3.0f, -11), 65519, 65520,
                                   tiny, tiny / 2, tiny * 1.5f, -inf}) ==
        std::vector<std::uint16_t>{0x3c00, 0xc000, 0x3c00, 0x3c02, 0x7bff, 0x7c00, 1, 0, 2, 0xfc00});
  CHECK((halves<float>(DType::bf16, {NAN})[0] & 0x7fff) > 0x7f80);
  CHECK((halves<double>(DType::f16, {NAN})[0] & 0x7fff) > 0x7c00);
}

TEST_CASE("doubles become halves in one rounding, not by way of a float that is half way") {
  const double little = std::ldexp(1.0, -40);
  CHECK(
      halves<double>(DType::bf16, {1 + std::ldexp(1.0, -8) + little, -1 - std::ldexp(1.0, -8) - little,
                                   1 + std::ldexp(3.0, -8) - little, 1 + std::ldexp(1.0, -8), 1e300, 0.0}) ==
      std::vector<std::uint16_t>{0x3f81, 0xbf81, 0x3f81, 0x3f80, 0x7f80, 0});
  CHECK(halves<double>(DType::f16, {1 + std::ldexp(1.0, -11) + little, 1 + std::ldexp(3.0, -11) - little,
                                    std::ldexp(1.0, -25) + std::ldexp(1.0, -70), 1e-300}) ==
        std::vector<std::uint16_t>{0x3c01, 0x3c01, 1, 0});
}

}  // namespace
}  // namespace dt::checkpoint
