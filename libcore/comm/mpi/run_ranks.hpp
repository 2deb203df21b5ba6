#pragma once
// From what --comm says to ranks at work.

#include <functional>
#include <optional>
#include <string>

#include "base/console.hpp"
#include "comm/mpi/world.hpp"
#include "comm/ranks.hpp"

namespace dt::comm::mpi {

/// `choice`: "self", "threads=N", "mpi", "nccl", which is mpi's ranks whose GPUs talk through NCCL; by
/// default, where a launcher started several ranks, mpi's, through NCCL where that can be (see StreamWish),
/// else self. Runs `body` on every rank and returns its exit code (of ranks as threads, the largest). When
/// ranks fail together (SharedError) rank 0 says so and all end in good order; when one fails alone it says
/// so and all end at once. Errors: usage for another choice; those of World; of one rank alone, what body
/// throws. `to_work_alone`: see World.
int run_ranks(const std::optional<std::string>& choice, Console& console,
              const std::function<int(const Ranks&)>& body, Threads threads = Threads::serialized,
              const std::string& to_work_alone = "");

}  // namespace dt::comm::mpi
