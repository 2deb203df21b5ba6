#include "base/numeric/integer.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace dt {

namespace {

constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
constexpr auto largest_signed = std::numeric_limits<std::int64_t>::max();

TEST_CASE("a quotient is rounded up") {
  for (int count = 0; count <= 40; ++count) {
    for (int divisor = 1; divisor <= 12; ++divisor) {
      CAPTURE(count, divisor);
      const int quotient = ceil_div(count, divisor);
      CHECK(quotient * divisor >= count);
      CHECK((quotient - 1) * divisor < count);
    }
  }
}

TEST_CASE("a number is rounded to the nearest multiples") {
  for (int count = 0; count <= 40; ++count) {
    for (int unit = 1; unit <= 12; ++unit) {
      CAPTURE(count, unit);
      const int above = round_up(count, unit), below = round_down(count, unit);
      CHECK(above % unit == 0);
      CHECK((above >= count && above < count + unit));
      CHECK(below % unit == 0);
      CHECK((below <= count && below > count - unit));
    }
  }
}

TEST_CASE("the largest operands do not overflow") {
  CHECK(ceil_div(largest, std::uint64_t{2}) == std::uint64_t{1} << 63);
  CHECK(ceil_div(largest, largest) == 1);
  CHECK(ceil_div(std::uint64_t{1}, largest) == 1);
  CHECK(ceil_div(largest_signed, std::int64_t{2}) == std::int64_t{1} << 62);
  CHECK(round_up(largest - 8, std::uint64_t{8}) == largest - 7);
  CHECK(round_up(largest, largest) == largest);
  CHECK(round_down(largest, std::uint64_t{4096}) == largest - 4095);
}

TEST_CASE("operands of two types give a result of their common type") {
  STATIC_REQUIRE(std::is_same_v<decltype(ceil_div(std::int64_t{9}, 4U)), std::int64_t>);
  STATIC_REQUIRE(ceil_div(std::int64_t{9}, 4U) == 3);
  STATIC_REQUIRE(round_up(std::int64_t{9}, 4U) == 12);
  STATIC_REQUIRE(round_down(std::int64_t{9}, 4U) == 8);
}

}  // namespace

}  // namespace dt
