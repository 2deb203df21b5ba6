// Calls that run several at a time: each once, and none after a failure.

#include "base/system/concurrent_calls.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace dt;

TEST_CASE("each of several calls is made once, however many threads may take them") {
  for (const std::size_t most : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> times(40);
    call_concurrently(times.size(), most, [&](std::size_t i) { ++times[i]; });
    for (const std::atomic<int>& one : times) CHECK(one == 1);
  }
  call_concurrently(0, 4, [](std::size_t) { FAIL("there is nothing to call"); });
}

TEST_CASE("no more calls than asked for are under way at a time") {
  std::atomic<int> under_way = 0, most = 0;
  call_concurrently(200, 3, [&](std::size_t) {
    const int now = ++under_way;
    for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
    }
    --under_way;
  });
  CHECK((most >= 1 && most <= 3));
}

TEST_CASE("a call that fails ends the others, and its error is thrown after all have returned") {
  for (const std::size_t most : {1, 4}) {
    std::atomic<int> begun = 0, under_way = 0;
    const auto body = [&](std::size_t i) {
      ++begun, ++under_way;
      const bool fails = i == 2;
      --under_way;
      if (fails) throw std::runtime_error("the third");
    };
    CHECK_THROWS_WITH(call_concurrently(1'000'000, most, body), "the third");
    CHECK(under_way == 0);
    CHECK(begun < 1'000'000);
    if (most == 1) CHECK(begun == 3);
  }
}
