#pragma once
// Chooses the devices of ranks: the CPUs of their hosts, or a GPU for each rank.

#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "comm/topology/gpus.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// Finds the launch as find_launch() of launch.hpp does, and chooses the device (see
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
