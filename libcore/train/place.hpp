#pragma once
// This rank's place among the ranks that train together.

#include "comm/communicator.hpp"

namespace dt::train {

struct Place {
  int rank = 0;
  int dp = 1;     // data-parallel ranks: all
  int cores = 1;  // of this rank's host that are this rank's share
  int node = 1;   // ranks on each host, where all have as many and those of a host follow each other; else 0
};

/// Called by all ranks together. Cores: those that any rank of the host may use (launchers bind ranks to
/// some), divided by the host's ranks; at least 1.
Place find_place(comm::Communicator& world);

}  // namespace dt::train
