#pragma once
// Chooses the device of each rank: the CPUs of its host, or a GPU.

#include <string>
#include <vector>

#include "base/text/enum_names.hpp"
#include "comm/communicator.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::comm {

/// A rank's report of the GPUs that it can use, and of where its cores lie.
struct HostGpus {
  std::string host;
  std::vector<Gpu> gpus;               // by index; each has its name, id and address
  std::vector<int> domains_of_gpus{};  // by index, the NUMA domain near the GPU; −1: unknown
  std::vector<int> domains{};          // NUMA domains of the rank's cores
  std::string unavailable_reason{};
  std::string remedy{};       // remedy of unavailable_reason
  bool are_unusable = false;  // there are GPUs, and unavailable_reason says what is wrong with them
};

/// The device that a user asks for; automatic: GPUs if ranks see them.
enum class DeviceRequest { automatic, cpu, cuda };
constexpr auto enum_names(DeviceRequest) {
  using enum DeviceRequest;
  return std::to_array<EnumName<DeviceRequest>>({{"auto", automatic}, {"cpu", cpu}, {"cuda", cuda}});
}

/// The devices on which ranks compute, the same on all ranks.
struct DeviceChoice {
  std::vector<Device> of_rank;
  std::vector<int> gpu_of_rank{};  // the GPU's number among all on which ranks compute
  int gpus_per_node = 0;           // GPUs on which ranks compute, on the node with the fewest
  std::string announcement{};
  std::vector<std::string> warnings{};
};

/// Returns the GPUs that each rank sees, by rank. If no GPU is wanted, no rank looks for one.
/// Collective: all ranks call it; blocks.
std::vector<HostGpus> gather_gpus(Communicator& group, bool is_wanted);

/// Chooses devices as `asked`. The ranks of a host divide its GPUs. They choose in turn: ranks that see
/// the fewest GPUs first, and among these, ranks whose cores lie on the fewest NUMA domains. Each takes the
/// GPU with the fewest ranks. It prefers GPUs near its cores that have fewer than ⌈ranks ÷ GPUs⌉ ranks, then
/// other GPUs that have fewer, then any that it sees. No rank gives up its GPU for a later one. If ranks see
/// different GPUs, some may therefore share a GPU while another is idle.
/// Errors: environment, naming the first rank that sees no GPU although cuda was asked for or other
/// ranks see some, or whose GPUs cannot be used.
DeviceChoice choose_devices(DeviceRequest asked, const std::vector<HostGpus>& ranks);

}  // namespace dt::comm
