#include <catch2/catch.hpp>

#include "bench/measure.hpp"

using namespace dt::bench;

TEST_CASE("a median is in the middle, of two in the middle the higher") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({5, 1}) == 5);
  CHECK(median({9, 1, 4}) == 4);
  CHECK(median({9, 1, 4, 7}) == 7);
}

TEST_CASE("slow is what is below a fraction of the median of its like") {
  const std::vector<std::string> likes{"A", "B", "A", "A", "B", "C"};
  const std::vector<double> values{100, 10, 79, 101, 8, 1};
  const std::vector<RelativeRate> standings = compare_to_median(likes, values, 0.8);
  std::vector<bool> are_slow;
  for (const RelativeRate& standing : standings) are_slow.push_back(standing.is_slow);
  CHECK(are_slow == std::vector<bool>{false, false, true, false, false, false});  // 8 is 0.8 of 10
  CHECK(standings[2].median == 100);
  CHECK(standings[4].median == 10);
  CHECK(standings[5].median == 1);
}

TEST_CASE("nothing is slow that is not measured, or beside fractions of 0") {
  for (const RelativeRate& standing : compare_to_median({"A", "A"}, {0, 0}, 0.8))
    CHECK_FALSE(standing.is_slow);
  for (const RelativeRate& standing : compare_to_median({"A", "A"}, {1, 9}, 0)) CHECK_FALSE(standing.is_slow);
}
