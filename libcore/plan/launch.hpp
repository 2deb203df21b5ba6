#pragma once
// Describes how this rank was started: the other ranks, its share of its host, and the device that it
// computes on, which is the CPUs of its host or a GPU.

#include <cstddef>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/ranks.hpp"
#include "comm/topology/gpus.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::plan {

struct Settings;  // plan/settings.hpp

struct Launch {
  int rank = 0;
  int num_ranks = 1;
  int cores = 1;       // this rank's share of its host's cores
  int host_cores = 1;  // cores of its host that ranks may use
  /// Number of ranks on each host, if all hosts have as many and the ranks of a host follow each
  /// other; else 0.
  int ranks_per_node = 1;
  Device device = Device::host();  // this rank's device
  // If the device is a GPU:
  Gpu gpu{};
  std::size_t gpu_free_bytes = 0;      // before any rank of this job has allocated
  bool orders_attention_sums = false;  // see kernels::cuda::choose_backward_algorithm
  std::string device_collectives{};    // library through which ranks' GPUs communicate: see comm::decide_nccl
  int gpus_per_node = 0;  // GPUs with ranks, each with as many ranks; on the node with the fewest
  // For each rank, the number of its host and of its GPU among all that have ranks. A simulated launch
  // has none, and the numbers above stand for them.
  std::vector<int> hosts{}, gpus{};
  int host_of(int rank) const;
  int gpu_of(int rank) const;
};

/// Finds how the first `num_ranks` ranks, which compute on their CPUs, are started. The overload below
/// also chooses devices. Any other rank gets the launch of the last of these. `cores` are those that any
/// rank on the host may use (launchers bind ranks to some), divided by the number of ranks there. If
/// the rank's share of a cgroup's CPU quota is smaller, `cores` is that share. It is at least 1.
/// Collective: all ranks call it.
Launch find_launch(comm::Communicator& world, int num_ranks);

/// Returns the launch of which only the first `num_ranks` take part, each with as many cores as
/// before.
Launch launch_on_subset(const Launch& launch, int num_ranks);

/// Finds the launch as the overload above does, and chooses the device (see
/// comm/topology/gpus.hpp). Rank 0 announces the devices. It warns if ranks share a device, if they have
/// different devices or software, or if no library computes attention. From then on, the time limit
/// of waits for a GPU is a little shorter than that of messages (Settings::comm_timeout). With
/// NCCL, in whose operations the GPU takes part, it is longer, as their watchdog can report the
/// ranks that a GPU waits for.
/// Errors: those of comm::choose_devices; usage, an option has no use on the device; environment, a
/// GPU does not answer, or a library that computes on it is missing.
/// Collective: all ranks call it.
Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks);

/// Returns the launch of `num_ranks` simulated ranks (--ranks), without asking this machine. --device auto
/// is the CPU; cuda is a GPU for each rank, and the GPUs communicate through NCCL.
/// Errors: usage, an option has no use on the device.
Launch simulated_launch(const Settings& settings, int num_ranks);

/// Returns a warning about the first rank whose GPU has other software (Gpu::software) than rank
/// 0's, with its host. Nodes of a cluster may be updated one by one. Returns an empty text if no
/// rank's differs.
std::string describe_software_mismatch(const std::vector<std::string>& of_ranks,
                                       const std::vector<comm::HostGpus>& seen);

}  // namespace dt::plan
