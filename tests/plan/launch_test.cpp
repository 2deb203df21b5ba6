#include "plan/launch.hpp"

#include <catch2/catch.hpp>

#include "base/host.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::plan;

TEST_CASE("ranks that take part share the host's cores, and no others do") {
  const int cores = static_cast<int>(available_core_numbers().size());
  comm::run_threads(3, [&](comm::Communicator& world) {
    for (const int num_ranks : {1, 2, 3}) {
      const Launch launch = find_launch(world, num_ranks);
      CHECK(launch.cores == std::max(1, cores / num_ranks));
      CHECK(launch.num_ranks == num_ranks);
      CHECK(launch.ranks_per_node == num_ranks);
      CHECK(launch.rank == std::min(world.rank(), num_ranks - 1));
    }
    return 0;
  });
}
