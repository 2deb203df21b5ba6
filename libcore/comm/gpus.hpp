#pragma once
// Which device each rank takes: the CPUs of its host, or a GPU.

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "tensor/accelerator.hpp"

namespace dt::comm {

/// What a rank tells of the GPUs that it may see.
struct SeenGpus {
  std::string host;
  std::vector<Gpu> gpus;  // by index; of each its name and id
  std::string why_none{};
};

/// What all ranks compute on, the same on each of them.
struct DeviceChoice {
  std::vector<Device> of_rank;
  std::vector<int> gpu_of_rank{};  // its number among all on which ranks compute
  int gpus_per_node = 0;           // that ranks compute on, of the node with the fewest
  std::string announcement{};
  std::vector<std::string> warnings{};
};

/// Called by all ranks together: what each sees, by rank. Where no GPU is wanted nobody looks for one.
std::vector<SeenGpus> see_gpus(Communicator& group, bool is_wanted);

/// As `asked`: cpu; cuda; or auto, which is cuda where ranks see GPUs. A rank takes the GPU of its index
/// among the ranks of its host that see the same ones, and shares it where these are more. Errors:
/// environment, naming the first rank that sees none where cuda is asked, or others see some.
DeviceChoice choose_devices(const std::string& asked, const std::vector<SeenGpus>& ranks);

}  // namespace dt::comm
