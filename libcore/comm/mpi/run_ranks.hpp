#pragma once
// Starts ranks as --comm says, and runs their work.

#include <functional>
#include <optional>
#include <string>

#include "base/cli/console.hpp"
#include "comm/mpi/world.hpp"
#include "comm/ranks.hpp"

namespace dt::comm::mpi {

/// Runs `body` on every rank and returns its exit code (if ranks are threads, the largest). `choice` is
/// "self", "threads=N", "mpi", or "nccl", which is MPI's ranks whose GPUs exchange through NCCL. By
/// default: if a launcher started several ranks, MPI's, through NCCL where possible (see NcclPolicy);
/// else self. If ranks fail together (SharedError), rank 0 reports it and all end in good order. If one
/// rank fails alone, it reports that and all end at once. `to_work_alone`: see World.
/// Errors: usage, another choice; those of World; in a job of one rank, what `body` throws.
int run_ranks(const std::optional<std::string>& choice, Console& console,
              const std::function<int(const Ranks&)>& body, Threads threads = Threads::serialized,
              const std::string& to_work_alone = "");

}  // namespace dt::comm::mpi
