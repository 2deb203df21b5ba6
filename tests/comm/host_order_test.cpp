#include "comm/topology/host_order.hpp"

#include <catch2/catch.hpp>
#include <mutex>

#include "base/cli/console.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt;
using comm::order_by_host;

TEST_CASE("ranks of a host follow each other, hosts in the order of their first ranks") {
  CHECK(order_by_host({"a", "b", "a", "b"}) == std::vector{0, 2, 1, 3});
  CHECK(order_by_host({"b", "a", "c", "a", "b", "b"}) == std::vector{0, 4, 5, 1, 3, 2});
  CHECK(order_by_host({"a", "a", "b"}) == std::vector{0, 1, 2});
}

TEST_CASE("a job numbered in turns over its hosts runs in their order") {
  std::vector<int> places(4, -1), members;
  std::mutex mutex;
  comm::run_threads(4, [&](comm::Communicator& world) {
    Console console(ConsoleSettings{});
    const comm::Ranks ranks{world, console, {}};
    return comm::in_host_order(ranks, world.rank() % 2 == 0 ? "a" : "b", [&](const comm::Ranks& placed) {
      const std::scoped_lock lock(mutex);
      places[static_cast<std::size_t>(world.rank())] = placed.world.rank();
      members = placed.world.members();
      return 0;
    });
  });
  CHECK(places == std::vector{0, 2, 1, 3});
  CHECK(members == std::vector{0, 2, 1, 3});
}
