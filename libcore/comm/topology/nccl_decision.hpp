#pragma once
// Chooses whether ranks on GPUs exchange through NCCL, or by messages through their hosts' memory.

#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "comm/topology/gpus.hpp"

namespace dt::comm {

struct NcclDecision {
  std::string library{};  // "NCCL 2.28.9", the same on all ranks; empty: GPUs' memory goes by messages
  std::string reason{};   // a warning to give, if ranks that have GPUs of their own lack a library
};

/// Chooses how the first `num_ranks` ranks, which compute as `choice` says, exchange GPUs' memory.
/// Unless NCCL was asked for (--comm nccl), messages are used if a rank lacks the library or if
/// there is only one rank. They are also used if ranks share a GPU, unless the library allows that.
/// Errors: usage, NCCL was asked for on CPUs. Environment, naming rank and host: NCCL was asked for,
/// and the library is missing, older than what dt was built with, or does not take ranks that share a
/// GPU. Environment, in any case: ranks' libraries are of different versions.
/// Collective: all ranks call it; blocks.
NcclDecision decide_nccl(const Ranks& ranks, const DeviceChoice& choice, const std::vector<HostGpus>& seen,
                         int num_ranks);

}  // namespace dt::comm
