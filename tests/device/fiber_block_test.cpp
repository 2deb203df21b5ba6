#include "device/fiber_block.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"

namespace dt::test_device {
namespace {

Launch launch_of(Dim3 blocks, unsigned threads, std::function<void()> thread, std::size_t shared_bytes = 0) {
  return {"a kernel", blocks, threads, shared_bytes, std::move(thread)};
}

TEST_CASE("every thread of every block runs once") {
  std::multiset<unsigned> ran;
  run(launch_of({3, 2, 1}, 5,
                [&] {
                  const Dim3 block = block_index(), blocks = grid_size();
                  ran.insert((block.y * blocks.x + block.x) * block_size().x + thread_index().x);
                }),
      1);
  CHECK(ran.size() == 30);
  CHECK(std::set<unsigned>(ran.begin(), ran.end()).size() == 30);
}

TEST_CASE("threads run in an order that the seed says") {
  const auto order = [](std::uint64_t seed) {
    std::vector<unsigned> ran;
    run(launch_of({1, 1, 1}, 64, [&] { ran.push_back(thread_index().x); }), seed);
    return ran;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("a barrier waits for all threads that have not ended") {
  int before = 0;
  run(launch_of({2, 1, 1}, 40,
                [&] {
                  if (thread_index().x == 7) return;
                  ++before;
                  sync_threads();
                  CHECK(before % 39 == 0);
                }),
      1);
  CHECK(before == 78);
}

TEST_CASE("lanes exchange what they bring, warp by warp") {
  run(launch_of({1, 1, 1}, 64,
                [] {
                  const std::uint64_t other = exchange(0xFFFFFFFF, thread_index().x, own_lane() ^ 1U);
                  CHECK(other == (thread_index().x ^ 1U));
                }),
      1);
}

TEST_CASE("shared memory begins as nothing in each block") {
  run(launch_of(
          {2, 1, 1}, 1,
          [] {
            CHECK(shared_memory()[15] == std::byte{0xFF});
            shared_memory()[15] = std::byte{0};
          },
          16),
      1);
}

TEST_CASE("threads that would wait for ever are an error") {
  const auto message = [](unsigned threads, std::function<void()> thread) {
    try {
      run(launch_of({1, 1, 1}, threads, std::move(thread)), 1);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK_THAT(message(32,
                     [] {
                       if (thread_index().x > 0) exchange(0xFFFFFFFF, 0, 0);
                     }),
             Catch::Contains("a kernel: thread") && Catch::Contains("thread 0, which has ended"));
  CHECK_THAT(message(32,
                     [] {
                       if (thread_index().x > 0) return static_cast<void>(exchange(0xFFFFFFFF, 0, 0));
                       sync_threads();
                     }),
             Catch::Contains("waits for lanes that are elsewhere"));
  CHECK_THAT(message(32, [] { exchange(1, 0, 0); }), Catch::Contains("is none of the lanes that it names"));
  CHECK_THAT(message(2000, [] {}), Catch::Contains("2000 threads in a block"));
}

TEST_CASE("what a thread throws comes out") {
  CHECK_THROWS_AS(run(launch_of({4, 1, 1}, 64, [] { throw input_error("no"); }), 1), Error);
}

}  // namespace
}  // namespace dt::test_device
