#pragma once
// The NCCL communicators that a rank of a plan takes part in, and their memory.

#include <string>
#include <vector>

#include "comm/streams/ctas.hpp"
#include "parallel/local_table.hpp"
#include "plan/nccl/memory.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

struct NamedNcclGroup {
  std::string name;  // as errors name it: "shards"
  comm::StreamUse use;
  NcclGroup group;
};

/// Returns the communicators of the plan's rank, as parallel::Groups makes them: all ranks', and one for each
/// group that has fewer; what is done in each follows from the layout.
std::vector<NamedNcclGroup> nccl_groups(const Plan& plan, const parallel::LocalTable& local);

/// Returns what joins GPUs, as far as their name tells: those of servers that are no PCIe cards have NVLink
/// switches. Nodes are taken to have InfiniBand with GPUDirect, which takes more of a GPU's memory than TCP.
/// `library` is "NCCL 2.28.9"; without a number, as on paper, it is that version.
NcclTopology nccl_topology(const Gpu& gpu, const std::string& library);

/// Returns what all of the rank's communicators take. Nothing where ranks do not talk through NCCL.
NcclBytes nccl_bytes(const Plan& plan, const parallel::LocalTable& local);

}  // namespace dt::plan
