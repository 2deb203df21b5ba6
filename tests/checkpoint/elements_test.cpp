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
  CHECK(converts(DType::i64, DType::i64));
  CHECK_FALSE(converts(DType::i64, DType::f32));
  CHECK_FALSE(converts(DType::f32, DType::bf16));
  CHECK(converts(DType::bf16, DType::f64));
}

}  // namespace
}  // namespace dt::checkpoint
