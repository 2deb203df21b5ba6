#pragma once
// Which device each rank takes: the CPUs of its host, or a GPU.

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "tensor/accelerator.hpp"

namespace dt::comm {

/// A rank's report of the GPUs that it can use, and of where its cores lie.
struct SeenGpus {
  std::string host;
  std::vector<Gpu> gpus;               // by index; of each its name, id and address
  std::vector<int> domains_of_gpus{};  // by index, the NUMA domain that it is near to; −1: not known
  std::vector<int> domains{};          // NUMA domains of the rank's cores
  std::string why_none{};
  std::string remedy{};       // of why_none
  bool are_unusable = false;  // some are there, and why_none says what is wrong with them
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

/// As `asked`: cpu; cuda; or auto, which is cuda where ranks see GPUs. The ranks of a host divide its GPUs,
/// so that no GPU has more ranks than it must. Ranks whose cores lie on one NUMA domain choose before those
/// whose cores lie on several; each takes a GPU that is near to its cores while there is one, by index.
/// Errors: environment, naming the first rank that sees none where cuda is asked, or others see some, or
/// whose GPUs cannot be used.
DeviceChoice choose_devices(const std::string& asked, const std::vector<SeenGpus>& ranks);

}  // namespace dt::comm
