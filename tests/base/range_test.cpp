#include "base/numeric/range.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

using namespace dt;

TEST_CASE("parts follow each other, cover everything, and start on granules, of which they differ by one") {
  const int size = GENERATE(1, 2, 3, 7, 64);
  const std::int64_t numel = GENERATE(0, 1, 5, 63, 64, 65, 1000), granule = GENERATE(1, 4, 64);
  std::int64_t end = 0, fewest = numel, most = 0;
  for (int rank = 0; rank < size; ++rank) {
    const Range part = even_range(rank, size, numel, granule);
    CHECK(part.begin == end);
    CHECK((part.begin % granule == 0 || part.begin == numel));
    end += part.count;
    fewest = std::min(fewest, part.count);
    most = std::max(most, part.count);
  }
  CHECK(end == numel);
  CHECK(most - fewest < 2 * granule);
}

TEST_CASE("parts of as many elements as can be counted are computed without overflow") {
  const std::int64_t numel = std::numeric_limits<std::int64_t>::max();
  const Range last = even_range(4095, 4096, numel);
  CHECK(last.begin + last.count == numel);
  CHECK(last.count - even_range(0, 4096, numel).count <= 1);
}
