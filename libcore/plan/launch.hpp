#pragma once
// How this rank was started: with whom, and what of its host is its own.

#include <cstddef>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "tensor/accelerator.hpp"

namespace dt::plan {

struct Launch {
  int rank = 0;
  int num_ranks = 1;
  int cores = 1;  // of this rank's host that are this rank's share
  /// On each host, where all have as many and those of a host follow each other; else 0.
  int ranks_per_node = 1;
  Device device = Device::host();  // that this rank computes on
  // Where that is a GPU:
  Gpu gpu{};
  std::size_t gpu_free_bytes = 0;      // before any rank of this job has allocated
  bool orders_attention_sums = false;  // see kernels::cuda::backward_way
  std::string streams{};               // through what ranks' GPUs talk: see comm::choose_streams
  int gpus_per_node = 0;               // that ranks compute on, each as many; of the node with the fewest
  // Of each rank, the number of its host and of its GPU among all that have ranks; of a launch on paper
  // without any, as the numbers above say.
  std::vector<int> hosts{}, gpus{};
  int host_of(int rank) const;
  int gpu_of(int rank) const;
};

/// Called by all ranks together, which compute on their CPUs (see device.hpp): how the first `num_ranks` of
/// them are started; of another rank: as the last of those. Cores: those that any of them on the host may use
/// (launchers bind ranks to some), divided by their number there, or their share of what a cgroup's quota
/// lasts for where that is less; at least 1.
Launch find_launch(comm::Communicator& world, int num_ranks);

/// The same where only the first `num_ranks` take part, each with as many cores as before.
Launch of_first(const Launch& launch, int num_ranks);

}  // namespace dt::plan
