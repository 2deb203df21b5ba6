#pragma once
// Where ranks compute: on the CPUs of their hosts, or each on a GPU.

#include <string>
#include <vector>

#include "comm/gpus.hpp"
#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// Called by all ranks together: as find_launch of launch.hpp, with the device (see comm/gpus.hpp). Rank 0
/// says which, and warns where ranks share one, or have different ones or other software, or where attention
/// has no library.
/// From then on a GPU is waited for a little less long than messages are (Settings::comm_timeout), and with
/// NCCL, whose operations it takes part in, longer: who watches these knows more. Errors: those of
/// comm::choose_devices; usage, of options that have no use on it; environment, of a GPU that does not
/// answer, or where a library that computes on it is missing.
Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks);

/// The launch of `num_ranks` of --ranks on paper: nothing of this machine is asked. --device auto is the CPU;
/// cuda is a GPU a rank, that talk through NCCL. Errors: usage, of options that have no use on the device.
Launch launch_on_paper(const Settings& settings, int num_ranks);

/// What to warn of where the nodes of a cluster were brought up to date one by one: the first rank whose GPU
/// has other software (Gpu::software) than rank 0's, with its host. Empty: none has.
std::string difference_of_software(const std::vector<std::string>& of_ranks,
                                   const std::vector<comm::SeenGpus>& seen);

}  // namespace dt::plan
