#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "base/test_folder.hpp"
#include "data/read/mixture.hpp"

using namespace dt;
using namespace dt::data;

namespace {

using Weights = std::vector<std::uint64_t>;

const std::vector<Weights> several = {{1},
                                      {1, 1},
                                      {7, 3},
                                      {3, 7},
                                      {1, 999},
                                      {1, 1, 1},
                                      {5, 3, 2},
                                      {49, 49, 2},
                                      {1, 1, 1, 997},
                                      {2, 3, 5, 7, 11},
                                      {499, 499, 1, 1},
                                      {300, 200, 100, 90, 80, 70, 60},
                                      {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}};

}  // namespace

TEST_CASE("after any number of samples, each source has its quota rounded down or up") {
  for (const Weights& weights : several) {
    const WeightedInterleave interleave(weights);
    const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    Weights counts(weights.size());
    for (std::uint64_t n = 1; n <= 3 * sum; ++n) {
      ++counts[interleave.at(n - 1).source];
      for (std::size_t s = 0; s < weights.size(); ++s) {
        REQUIRE(counts[s] >= n * weights[s] / sum);
        REQUIRE(counts[s] <= (n * weights[s] + sum - 1) / sum);
      }
    }
  }
}

TEST_CASE("a sample's index counts its source's samples before it, from any sample on") {
  for (const Weights& weights : several) {
    const WeightedInterleave interleave(weights);
    Weights counts(weights.size());
    for (std::uint64_t i = 0; i < 3 * interleave.period(); ++i) {
      for (std::size_t s = 0; s < weights.size(); ++s) REQUIRE(interleave.count(s, i) == counts[s]);
      const WeightedInterleave::SourcePosition place = interleave.at(i);
      REQUIRE(place.index == counts[place.source]++);
    }
  }
  const WeightedInterleave interleave({7, 3});
  const std::uint64_t far = std::uint64_t{1} << 50;
  CHECK(interleave.count(0, far) + interleave.count(1, far) == far);
}

TEST_CASE("the order of sources never changes silently") {
  std::vector<std::size_t> sources;
  const WeightedInterleave interleave({5, 3, 2});
  for (std::uint64_t i = 0; i < 10; ++i) sources.push_back(interleave.at(i).source);
  CHECK(sources == std::vector<std::size_t>{0, 1, 0, 2, 0, 1, 0, 1, 0, 2});
}

TEST_CASE("weights count in lowest terms") {
  CHECK(WeightedInterleave({70, 30}).weights() == Weights{7, 3});
  CHECK(WeightedInterleave({1000000000000000000, 1000000000000000000}).period() == 2);
}

TEST_CASE("weights that no period can hold are usage errors") {
  CHECK(dt_test::caught([] { WeightedInterleave({}); }).kind == ErrorKind::usage);
  CHECK(dt_test::caught([] { WeightedInterleave({3, 0}); }).says("a weight in a mixture is 0"));
  CHECK(dt_test::caught([] { WeightedInterleave(Weights(257, 1)); }).says("257 sources"));
  CHECK(dt_test::caught([] {
          WeightedInterleave({1, WeightedInterleave::max_period});
        }).says("round the weights"));
  CHECK(WeightedInterleave({1, WeightedInterleave::max_period - 1}).period() ==
        WeightedInterleave::max_period);
}
