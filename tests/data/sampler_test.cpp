#include "data/read/sampler.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/test_folder.hpp"

using namespace dt;
using namespace dt::data;

namespace {

std::vector<std::uint64_t> all_of(const Permutation& permutation, std::uint64_t size) {
  std::vector<std::uint64_t> values(size);
  for (std::uint64_t i = 0; i < size; ++i) values[i] = permutation(i);
  return values;
}

}  // namespace

TEST_CASE("a permutation of any size takes every value once") {
  for (const std::uint64_t size :
       {1u, 2u, 3u, 4u, 5u, 7u, 16u, 17u, 64u, 65u, 1000u, 4096u, 4097u, 100003u}) {
    std::vector<std::uint64_t> values = all_of(Permutation(3, 1, size), size);
    std::sort(values.begin(), values.end());
    std::vector<std::uint64_t> expected(size);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(values == expected);
  }
}

TEST_CASE("permutations differ between epochs, seeds and sources, and repeat for the same ones") {
  const auto values = all_of(Permutation(0, 0, 1000), 1000);
  CHECK(values == all_of(Permutation(0, 0, 1000), 1000));
  for (const auto& other : {all_of(Permutation(0, 1, 1000), 1000), all_of(Permutation(1, 0, 1000), 1000),
                            all_of(Permutation(0, 0, 1000, 1), 1000)}) {
    int equal = 0;
    for (std::size_t i = 0; i < 1000; ++i) equal += values[i] == other[i] ? 1 : 0;
    CHECK(equal < 10);  // about 1 is expected by chance
  }
}

TEST_CASE("the order never changes silently") {
  CHECK(all_of(Permutation(0, 0, 10), 10) == std::vector<std::uint64_t>{0, 2, 1, 5, 7, 6, 4, 8, 3, 9});
  CHECK(Permutation(42, 7, 1000000007)(123456789) == 117809015);
  CHECK(Permutation(1, 0, std::uint64_t{1} << 62)(5) == 2126858747795639662);
}

TEST_CASE("a permutation looks random: a value follows its neighbour no more often than chance has it") {
  constexpr std::uint64_t size = 10000;
  const auto values = all_of(Permutation(5, 0, size), size);
  int ascents = 0;
  int successors = 0;
  for (std::size_t i = 0; i + 1 < size; ++i) {
    ascents += values[i + 1] > values[i] ? 1 : 0;
    successors += values[i + 1] == values[i] + 1 ? 1 : 0;
  }
  CHECK(std::abs(ascents - 5000) < 150);  // about five standard deviations
  CHECK(successors < 10);
}

TEST_CASE("windows overlap by one token, and an incomplete last one is dropped") {
  CHECK(Sampler(0, 9, 4).num_windows() == 2);
  CHECK(Sampler(0, 8, 4).num_windows() == 1);
  CHECK(Sampler(0, 5, 4).num_windows() == 1);
}

TEST_CASE("each epoch takes every window once, in another order") {
  const Sampler sampler(9, 101, 5);
  REQUIRE(sampler.num_windows() == 20);
  std::vector<std::vector<std::uint64_t>> epochs(3);
  for (std::uint64_t i = 0; i < 60; ++i) epochs[i / 20].push_back(sampler.window(i));
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (std::uint64_t i = 0; i < 20; ++i) CHECK(epoch[i] == i);
  }
}

TEST_CASE("too few tokens for one window is an input error with the numbers") {
  const auto error = dt_test::caught([] { Sampler(0, 4, 4); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("only 4 tokens"));
  CHECK(error.says("at least 5"));
}
