// Tests the frequencies of rotary positions, and the tables made of them.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "kernels/fixture.hpp"
#include "kernels/rotary.hpp"

namespace dt::kernels::test {
namespace {

using Type = RotaryScaling::Type;

/// Returns the frequencies, which are the angles at the first position.
std::vector<double> frequencies_of(const RotaryFrequencies& frequencies, std::int64_t head_dim,
                                   std::int64_t sequence = 0) {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const std::int64_t F = num_rotary_frequencies(frequencies, head_dim);
  const Tensor cosine = f.output({2, F}), sine = f.output({2, F});
  rotary_tables(frequencies, head_dim, sequence, cosine, sine);
  std::vector<double> angles;
  for (std::size_t i = 0; i < static_cast<std::size_t>(F); ++i) {
    const std::size_t first = static_cast<std::size_t>(F) + i;
    angles.push_back(std::atan2(to_doubles(sine)[first], to_doubles(cosine)[first]));
  }
  return angles;
}

void check_frequencies(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("frequency " << i);
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("rotary tables hold the angles of Su et al.") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor cosine = f.output({3, 2}), sine = f.output({3, 2});
    rotary_tables({100, {}}, 4, 3, cosine, sine);  // frequencies 1 and 1/10
    CHECK(to_doubles(cosine)[0] == 1);
    CHECK(to_doubles(sine)[1] == 0);
    CHECK(to_doubles(cosine)[4] == Approx(std::cos(2.0)));
    CHECK(to_doubles(sine)[5] == Approx(std::sin(0.2)));
  }
}

TEST_CASE("scaled rotary frequencies: linear divides all, llama3 the low ones, with a slope between") {
  // Without scaling the frequencies are 1, 1/10, 1/100, 1/1000: over 200 positions 31.8, 3.18,
  // 0.318, 0.0318 turns.
  check_frequencies(frequencies_of({10000, RotaryScaling{Type::linear, 8}}, 8),
                    {1.0 / 8, 0.1 / 8, 0.01 / 8, 0.001 / 8});
  const double kept = (20 / (2 * std::numbers::pi) - 1) / 3;
  check_frequencies(frequencies_of({10000, RotaryScaling{Type::llama3, 8, 1, 4, 200}}, 8),
                    {1, 0.1 * (kept + (1 - kept) / 8), 0.01 / 8, 0.001 / 8});
}

TEST_CASE("a part of a head rotates: an odd number of features is rounded up, but not in the exponents") {
  CHECK(num_rotary_frequencies({.partial_factor = 0.25}, 12) == 2);
  CHECK(num_rotary_frequencies({.partial_factor = 0.75}, 128) == 48);
  CHECK(num_rotary_frequencies({.partial_factor = 0.1}, 12) == 1);  // 1.2 features
  CHECK(num_rotary_frequencies({}, 6) == 3);
  check_frequencies(frequencies_of({.theta = 1000, .partial_factor = 0.25}, 12), {1, 0.01});
  check_frequencies(frequencies_of({.theta = 1e4, .partial_factor = 0.5}, 16), {1, 0.1, 0.01, 0.001});
}

TEST_CASE("YaRN divides the frequencies that turn rarely, with a slope from those that turn often") {
  RotaryScaling scaling{
      .type = Type::yarn, .factor = 4, .original_positions = 1000, .beta_fast = 20, .beta_slow = 2};
  const RotaryFrequencies base{.theta = 1e6};
  // Frequency i of 16 features is 10^(−3i/4). It turns t times at i = 16 · ln(1000 / 2πt) / (2 ln 10⁶).
  const auto at = [](double turns) {
    return 16 * std::log(1000 / (2 * std::numbers::pi * turns)) / (2 * std::log(1e6));
  };
  REQUIRE(at(20) == Approx(1.2014).epsilon(1e-3));
  REQUIRE(at(2) == Approx(2.5347).epsilon(1e-3));
  const auto expected = [&](double low, double high) {
    std::vector<double> all;
    for (int i = 0; i < 8; ++i) {
      const double ramp = std::min(1.0, std::max(0.0, (i - low) / (high - low)));
      all.push_back(std::pow(10, -0.75 * i) * (ramp / 4 + 1 - ramp));
    }
    return all;
  };
  const auto found = [&] {
    RotaryFrequencies frequencies = base;
    frequencies.scaling = scaling;
    return frequencies_of(frequencies, 16);
  };
  check_frequencies(found(), expected(1, 3));
  scaling.truncate = false;
  check_frequencies(found(), expected(at(20), at(2)));
  scaling.beta_fast = 1000;  // more turns than any frequency has
  check_frequencies(found(), expected(0, at(2)));
  scaling.beta_slow = 1e-10;  // fewer; the end is at the last feature, not at the last frequency
  check_frequencies(found(), expected(0, 15));
  scaling.truncate = true;
  scaling.beta_fast = scaling.beta_slow = 200;  // both ends at 0: a step
  const std::vector<double> step = found();
  CHECK(step[0] == Approx(1));
  CHECK(step[1] == Approx(std::pow(10, -0.75) / 4));
}

TEST_CASE("longrope divides by the long factors in sequences beyond the original positions") {
  RotaryFrequencies frequencies{.theta = 1e4};
  frequencies.scaling = {
      .type = Type::longrope, .original_positions = 64, .short_factors = {1, 2}, .long_factors = {4, 5}};
  check_frequencies(frequencies_of(frequencies, 4, 64), {1, 0.01 / 2});
  check_frequencies(frequencies_of(frequencies, 4, 65), {1.0 / 4, 0.01 / 5});
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const Tensor cosine = f.output({2, 2}), sine = f.output({2, 2}), wrong = f.output({2, 7});
  frequencies.scaling->attention_factor = 1.5;
  rotary_tables(frequencies, 4, 64, cosine, sine);
  CHECK(to_doubles(cosine)[0] == 1.5);
  CHECK(to_doubles(sine)[3] == Approx(1.5 * std::sin(0.01 / 2)));
  check_refused("rotary_tables", [&] { rotary_tables(frequencies, 4, 64, cosine, wrong); });
  check_refused("rotary_tables", [&] { rotary_tables(frequencies, 6, 64, cosine, sine); });
  frequencies.scaling->long_factors = {4};
  check_refused("rotary_tables", [&] { rotary_tables(frequencies, 4, 64, cosine, sine); });
}

TEST_CASE("factors of queries grow with the logarithm of the times that positions exceed the original") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  RotaryFrequencies frequencies{.query_scale = 0.1};
  const Tensor factors = f.output({7});
  check_refused("query_factors", [&] { query_factors(frequencies, factors); });
  frequencies.scaling = {.type = Type::yarn, .original_positions = 3};
  query_factors(frequencies, factors);
  const std::vector<double> found = to_doubles(factors);
  CHECK(found[2] == 1);
  CHECK(found[3] == Approx(1 + 0.1 * std::log(2.0)));
  CHECK(found[6] == Approx(1 + 0.1 * std::log(3.0)));
}

}  // namespace
}  // namespace dt::kernels::test
