#include "plan/launch.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "base/system/host.hpp"
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
      CHECK(launch.hosts == std::vector<int>(static_cast<std::size_t>(num_ranks), 0));
    }
    return 0;
  });
}

TEST_CASE("a launch says where ranks lie, or its numbers do") {
  const Launch even{.num_ranks = 8, .ranks_per_node = 4, .gpus_per_node = 2};
  CHECK(even.host_of(5) == 1);
  CHECK(even.gpu_of(4) == 2);
  CHECK(even.gpu_of(7) == 3);
  const Launch uneven{.num_ranks = 3, .ranks_per_node = 0, .hosts = {0, 0, 1}, .gpus = {0, 0, 1}};
  CHECK(uneven.host_of(1) == 0);
  CHECK(uneven.gpu_of(1) == 0);
  CHECK(uneven.gpu_of(2) == 1);
}
