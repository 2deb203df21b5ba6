#include "comm/core/reduction.hpp"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;

namespace {

template <class T>
std::vector<T> combined(Reduction reduction, std::vector<std::vector<T>> inputs,
                        DType dtype = dtype_of<T>()) {
  std::vector<T> out(inputs[0].size());
  std::vector<Tensor> views;
  for (std::vector<T>& input : inputs) {
    views.emplace_back(input.data(), dtype, Shape{std::ssize(input)}, Device::host());
  }
  combine(reduction, views, Tensor(out.data(), dtype, {std::ssize(out)}, Device::host()));
  return out;
}

double f16_by_definition(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const double magnitude = exponent == 31  ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                           : exponent == 0 ? std::ldexp(mantissa, -24)
                                           : std::ldexp(mantissa + 1024, exponent - 25);
  return half >> 15 != 0 ? -magnitude : magnitude;
}

const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("inputs combine in a tree whose left sides are the largest powers of two") {
  const float big = 0x1p24F;  // big + 1 rounds to big
  // 3 inputs are 0 1 | 2; 6 are 0 1 | 2 3 || 4 5.
  CHECK(combined<float>(Reduction::sum, {{big}, {1}, {1}})[0] == big);
  CHECK(combined<float>(Reduction::sum, {{1}, {1}, {big}})[0] == big + 2);
  CHECK(combined<float>(Reduction::sum, {{1}, {1}, {big}, {1}})[0] == big + 2);
  CHECK(combined<float>(Reduction::sum, {{big}, {0}, {1}, {0}, {1}})[0] == big);
  CHECK(combined<float>(Reduction::sum, {{big}, {0}, {1}, {1}, {0}, {0}})[0] == big + 2);
  CHECK(combined<float>(Reduction::sum, {{1}, {1}, {big}, {1}, {0}, {0}})[0] == big + 2);
}

TEST_CASE("a single input is the result") {
  CHECK(combined<float>(Reduction::sum, {{1, 2, 3}}) == std::vector<float>{1, 2, 3});
  CHECK(combined<std::uint16_t>(Reduction::min, {{1, 0x7fff}}, DType::bf16) ==
        std::vector<std::uint16_t>{1, 0x7fff});
}

TEST_CASE("the result may lie in any of the inputs") {
  for (std::size_t target = 0; target < 3; ++target) {
    std::array<std::vector<float>, 3> inputs;
    std::vector<Tensor> views;
    for (std::size_t i = 0; i < 3; ++i) {
      inputs[i].assign(5001, static_cast<float>(i + 1));
      views.push_back(host_tensor(inputs[i]));
    }
    combine(Reduction::sum, views, views[target]);
    CHECK(inputs[target] == std::vector<float>(5001, 6));
  }
}

TEST_CASE("16-bit floats are combined in fp32 and rounded once") {
  // 1 + 2^-8 + 2^-8: rounding each sum to bf16 would lose both small terms.
  const std::uint16_t one = f32_to_bf16(1);
  const std::uint16_t small = f32_to_bf16(0x1p-8F);
  CHECK(bf16_to_f32(combined<std::uint16_t>(Reduction::sum, {{one}, {small}, {0}, {small}},
                                            DType::bf16)[0]) == 1 + 0x1p-7F);
  const std::uint16_t one_half = f32_to_f16(1);
  const std::uint16_t small_half = f32_to_f16(0x1p-11F);
  CHECK(f16_to_f32(combined<std::uint16_t>(Reduction::sum, {{one_half}, {small_half}, {0}, {small_half}},
                                           DType::f16)[0]) == 1 + 0x1p-10F);
}

TEST_CASE("integers wrap") {
  const auto largest = std::numeric_limits<std::int32_t>::max();
  CHECK(combined<std::int32_t>(Reduction::sum, {{largest}, {1}})[0] ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(combined<std::uint32_t>(Reduction::product, {{1U << 31}, {2}})[0] == 0);
  CHECK(combined<std::int64_t>(Reduction::product, {{-3}, {5}, {7}})[0] == -105);
  CHECK(combined<std::int64_t>(Reduction::min, {{-3}, {5}, {-7}})[0] == -7);
  CHECK(combined<std::uint64_t>(Reduction::max, {{3}, {~std::uint64_t{0}}})[0] == ~std::uint64_t{0});
}

TEST_CASE("min and max of a NaN and anything are NaN, on either side") {
  for (const Reduction reduction : {Reduction::min, Reduction::max, Reduction::sum, Reduction::product}) {
    CHECK(std::isnan(combined<float>(reduction, {{not_a_number}, {1}})[0]));
    CHECK(std::isnan(combined<float>(reduction, {{1}, {not_a_number}})[0]));
    CHECK(std::isnan(combined<float>(reduction, {{1}, {infinity}, {not_a_number}})[0]));
  }
  CHECK(combined<float>(Reduction::min, {{1, -infinity}, {-2, 3}}) == std::vector<float>{-2, -infinity});
  CHECK(combined<float>(Reduction::max, {{1, infinity}, {-2, 3}}) == std::vector<float>{1, infinity});
}

TEST_CASE("a sum with -0 changes no bit") {
  std::vector<float> values = {0.0F,      -0.0F,    1.5F,
                               -infinity, infinity, std::numeric_limits<float>::denorm_min()};
  const std::vector<float> before = values;
  std::vector<float> neutral(values.size(), -0.0F);
  combine(Reduction::sum, std::array{host_tensor(neutral), host_tensor(values)}, host_tensor(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(before[i]));
  }
}

TEST_CASE("a value does not depend on its place") {
  std::vector<float> a(3000, 0.1F);
  std::vector<float> b(3000, 0.7F);
  std::vector<float> c(3000, 1e-9F);
  for (const std::int64_t numel : {1, 2, 7, 1023, 1024, 1025, 2999}) {
    std::vector<float> out(3000, -1);
    combine(Reduction::sum,
            std::array{host_tensor(a).flat(1, numel), host_tensor(b).flat(0, numel),
                       host_tensor(c).flat(1, numel)},
            host_tensor(out).flat(0, numel));
    const float expected = 0.1F + (0.7F + 1e-9F);
    for (std::int64_t i = 0; i < 3000; ++i)
      REQUIRE(out[static_cast<std::size_t>(i)] == (i < numel ? expected : -1));
  }
}

TEST_CASE("bytes and 16-bit integers are not reduced") {
  CHECK_THROWS_AS(combined<std::uint8_t>(Reduction::sum, {{1}, {2}}), Error);
  CHECK_THROWS_AS(combined<std::uint16_t>(Reduction::sum, {{1}, {2}}), Error);
}

TEST_CASE("every 16-bit float has its value in fp32 and comes back") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float bf16 = bf16_to_f32(half);
    REQUIRE(std::bit_cast<std::uint32_t>(bf16) == bits << 16);
    const double expected = f16_by_definition(half);
    const float f16 = f16_to_f32(half);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(f16));
      REQUIRE(std::isnan(f16_to_f32(f32_to_f16(f16))));
    } else {
      REQUIRE(static_cast<double>(f16) == expected);
      REQUIRE(std::signbit(f16) == std::signbit(expected));
      REQUIRE(f32_to_f16(f16) == half);
    }
    if (std::isnan(bf16)) {
      REQUIRE(std::isnan(bf16_to_f32(f32_to_bf16(bf16))));
    } else {
      REQUIRE(f32_to_bf16(bf16) == half);
    }
  }
}

TEST_CASE("fp32 is rounded to the nearest 16-bit float, ties to the even one") {
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const auto next = static_cast<std::uint16_t>(half + 1);
    const float middle = (f16_to_f32(half) + f16_to_f32(next)) / 2;
    REQUIRE(f32_to_f16(middle) == (half % 2 == 0 ? half : next));
    REQUIRE(f32_to_f16(std::nextafter(middle, 0.0F)) == half);
    REQUIRE(f32_to_f16(-std::nextafter(middle, infinity)) == (next | 0x8000));
  }
  CHECK(f32_to_f16(65519.9F) == 0x7bff);
  CHECK(f32_to_f16(65520.0F) == 0x7c00);
  CHECK(f32_to_f16(infinity) == 0x7c00);
  CHECK(f32_to_f16(1e30F) == 0x7c00);
  for (const std::uint16_t half : {0x0000, 0x0001, 0x3f80, 0x4049, 0x7f7e}) {
    const auto next = static_cast<std::uint16_t>(half + 1);
    const float middle = std::bit_cast<float>((static_cast<std::uint32_t>(half) << 16) + 0x8000U);
    CHECK(f32_to_bf16(middle) == (half % 2 == 0 ? half : next));
    CHECK(f32_to_bf16(std::nextafter(middle, 0.0F)) == half);
    CHECK(f32_to_bf16(std::nextafter(middle, infinity)) == next);
  }
  CHECK(f32_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
}
