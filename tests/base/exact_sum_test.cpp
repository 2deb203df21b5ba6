#include "base/numeric/exact_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace dt;

namespace {

double sum(std::initializer_list<double> terms) {
  ExactSum s;
  for (const double term : terms) s.add(term);
  return s.value();
}

std::uint64_t bits(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

/// Returns doubles of every magnitude and sign.
std::vector<double> wild_terms(std::size_t count, std::uint32_t seed, int min_exponent, int max_exponent) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<int> exponent(min_exponent, max_exponent);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::vector<double> terms(count);
  for (double& term : terms) term = std::ldexp(mantissa(engine), exponent(engine));
  return terms;
}

}  // namespace

TEST_CASE("one term is its own sum, from the smallest to the largest") {
  for (const double x : {0.0, 1.0, -1.0, 0.1, DBL_MIN, DBL_MAX, -DBL_MAX, DBL_TRUE_MIN, -DBL_TRUE_MIN,
                         DBL_MIN - DBL_TRUE_MIN, 3 * DBL_TRUE_MIN, 0x1.fffffffffffffp-1, 0x1p52, 0x1p53}) {
    CHECK(bits(sum({x})) == bits(x));
  }
  CHECK(sum({}) == 0.0);
  for (const double x : wild_terms(10'000, 1, -1080, 1023)) REQUIRE(sum({x}) == x);
}

TEST_CASE("large terms cancel and small ones remain") {
  CHECK(sum({1e308, 1.0, -1e308}) == 1.0);
  CHECK(sum({1e308, DBL_TRUE_MIN, -1e308}) == DBL_TRUE_MIN);
  CHECK(sum({1e-300, -1.0, 1.0, -1e-300}) == 0.0);
  CHECK(sum({DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, -2.5}) == -2.5);
  CHECK(sum({DBL_MAX, DBL_MAX}) == std::numeric_limits<double>::infinity());
  CHECK(sum({-DBL_MAX, -DBL_MAX}) == -std::numeric_limits<double>::infinity());
}

TEST_CASE("the sum is rounded once, to nearest, ties to even") {
  CHECK(sum({1.0, 0x1p-53}) == 1.0);
  CHECK(sum({1.0, 0x1p-53, DBL_TRUE_MIN}) == 1.0 + 0x1p-52);
  CHECK(sum({1.0 + 0x1p-52, 0x1p-53}) == 1.0 + 0x1p-51);
  CHECK(sum({1.0 + 0x1p-52, 0x1p-53, -DBL_TRUE_MIN}) == 1.0 + 0x1p-52);
  CHECK(sum({-1.0, -0x1p-53, -DBL_TRUE_MIN}) == -1.0 - 0x1p-52);
  CHECK(sum({2.0 - 0x1p-52, 0x1p-53}) == 2.0);
  CHECK(sum({DBL_MAX, 0x1p969}) == DBL_MAX);
  CHECK(sum({DBL_MAX, 0x1p970}) == std::numeric_limits<double>::infinity());
}

TEST_CASE("sums agree with 113-bit arithmetic where that is exact") {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const auto terms = wild_terms(16, seed, -20, 20);
    ExactSum s;
    __float128 reference = 0;
    for (const double term : terms) {
      s.add(term);
      reference += term;
    }
    REQUIRE(s.value() == static_cast<double>(reference));
  }
}

TEST_CASE("sums of denormal numbers are exact") {
  std::mt19937_64 engine(5);
  ExactSum s;
  std::int64_t reference = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto units =
        static_cast<std::int64_t>(engine() % (std::uint64_t{1} << 40)) - (std::int64_t{1} << 39);
    s.add(static_cast<double>(units) * DBL_TRUE_MIN);
    reference += units;
  }
  CHECK(s.value() == static_cast<double>(reference) * DBL_TRUE_MIN);
}

TEST_CASE("the order and the grouping of terms do not change a bit") {
  auto terms = wild_terms(4000, 7, -1074, 1000);
  ExactSum forward;
  forward.add(terms);
  const std::uint64_t expected = bits(forward.value());
  std::mt19937 engine(3);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(terms.begin(), terms.end(), engine);
    std::vector<ExactSum> parts(1 + static_cast<std::size_t>(round));
    for (std::size_t i = 0; i < terms.size(); ++i) parts[i * i % parts.size()].add(terms[i]);
    ExactSum total;
    for (const ExactSum& part : parts) total.merge(part);
    CHECK(bits(total.value()) == expected);
  }
}

TEST_CASE("an integer all-reduce of digits is a merge") {
  std::vector<ExactSum> ranks(5);
  ExactSum whole;
  const auto terms = wild_terms(1000, 11, -200, 200);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    ranks[i % ranks.size()].add(terms[i]);
    whole.add(terms[i]);
  }
  std::vector<std::int64_t> total(ExactSum::num_digits + 1);
  for (ExactSum& rank : ranks) {
    const auto digits = rank.digits();
    REQUIRE(digits.size() == total.size());
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += digits[i];
  }
  ExactSum result;
  std::copy(total.begin(), total.end(), result.digits().begin());
  CHECK(bits(result.value()) == bits(whole.value()));
  result.add(1.0);
  whole.add(1.0);
  CHECK(bits(result.value()) == bits(whole.value()));
}

TEST_CASE("digits without carries are added exactly") {
  const std::vector<double> terms{1e300, -1, 5e-324, 1e300, -1e300, 12345.678, -1e300};
  std::array<std::int64_t, ExactSum::num_digits + 1> digits{};
  for (int i = 0; i < 1000; ++i) ExactSum::add_to_digits(terms, digits);
  ExactSum sum, expected;
  sum.add(7);
  sum.add_digits(digits);
  expected.add(7);
  for (int i = 0; i < 1000; ++i) expected.add(terms);
  CHECK(sum.value() == expected.value());
}

TEST_CASE("a sum with a term that is not finite is not a number") {
  for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(std::isnan(sum({1.0, bad})));
    ExactSum a;
    a.add(bad);
    ExactSum b;
    b.add(1.0);
    b.merge(a);
    CHECK(std::isnan(b.value()));
    CHECK(b.digits().back() == 1);
  }
}

TEST_CASE("many equal terms carry") {
  ExactSum s;
  const double term = 0x1.fffffffffffffp100;
  for (int i = 0; i < 1 << 20; ++i) s.add(term);
  CHECK(s.value() == term * (1 << 20));
}
