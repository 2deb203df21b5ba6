#pragma once
// Where ranks compute: on the CPUs of their hosts, or each on a GPU.

#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// What a rank tells of the GPUs that it may see.
struct SeenGpus {
  std::string host;
  std::vector<Gpu> gpus;  // by index
  std::string why_none{};
};

/// What all ranks compute on, the same on each of them.
struct DeviceChoice {
  std::vector<Device> of_rank;
  int gpus_per_node = 0;  // that ranks compute on, of the node with the fewest
  std::string announcement{};
  std::vector<std::string> warnings{};
};

/// As `asked`: cpu; cuda; or auto, which is cuda where ranks see GPUs. A rank takes the GPU of its
/// index among the ranks of its host that see the same ones, and shares it where these are more. Errors:
/// environment, naming the first rank that sees none where cuda is asked, or others see some.
DeviceChoice choose_devices(const std::string& asked, const std::vector<SeenGpus>& ranks);

/// Called by all ranks together: as find_launch of launch.hpp, with the device. Rank 0 says which, and warns
/// where ranks share one or have different ones. Errors: those of choose_devices; usage, of options
/// that have no use on it; environment, of a GPU that does not answer.
Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks);

}  // namespace dt::plan
