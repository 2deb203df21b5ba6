#pragma once
// Lists the NCCL communicators that a rank of a plan takes part in, and their memory.

#include <string>
#include <vector>

#include "comm/device_collectives/device_transport.hpp"
#include "parallel/state/local_table.hpp"
#include "plan/memory/nccl_memory.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

struct NamedNcclGroup {
  std::string name;  // name in errors: "shards"
  comm::DeviceGroupUse use;
  NcclGroup group;
};

/// Returns the communicators of the plan's rank, as parallel::Groups makes them: the one of all
/// ranks, and one for each group that has fewer. The layout decides which operations each of them
/// carries.
std::vector<NamedNcclGroup> nccl_groups(const Plan& plan, const parallel::LocalTable& local);

/// Returns the links between GPUs. Within a node the GPUs' name decides: GPUs with NVLink
/// (tensor/device/gpu_probe.hpp) and simulated GPUs count as joined by NVSwitch. Between nodes the links
/// count as InfiniBand with GPUDirect, which takes more of a GPU's memory than TCP. `library` is
/// "NCCL 2.28.9"; without a number, as on simulated ranks, it is that version.
NcclTopology nccl_topology(const Gpu& gpu, const std::string& library);

/// Returns the memory that all of the rank's communicators take, or nothing if ranks do not use NCCL.
NcclBytes nccl_bytes(const Plan& plan, const parallel::LocalTable& local);

}  // namespace dt::plan
