#pragma once
// How this rank was started: with whom, and what of its host is its own.

#include "comm/communicator.hpp"

namespace dt::plan {

struct Launch {
  int rank = 0;
  int num_ranks = 1;
  int cores = 1;  // of this rank's host that are this rank's share
  /// On each host, where all have as many and those of a host follow each other; else 0.
  int ranks_per_node = 1;
};

/// Called by all ranks together: how the first `num_ranks` of them are started; of another rank: as the last
/// of those. Cores: those that any of them on the host may use (launchers bind ranks to some), divided by
/// their number there; at least 1.
Launch find_launch(comm::Communicator& world, int num_ranks);

/// The same where only the first `num_ranks` take part, each with as many cores as before.
Launch of_first(const Launch& launch, int num_ranks);

}  // namespace dt::plan
