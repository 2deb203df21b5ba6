#pragma once
// The hosts of a job and their ranks.

#include <string>
#include <vector>

#include "base/system/host.hpp"
#include "comm/communicator.hpp"

namespace dt::run {

struct Nodes {
  std::vector<std::vector<int>> ranks;  // for each node, ascending; nodes in the order of their first rank
  std::vector<std::string> hosts;       // for each node
  int own = 0;                          // this rank's node

  int size() const { return static_cast<int>(ranks.size()); }
  /// Returns the rank that acts for a node.
  int leader(int node) const { return ranks[static_cast<std::size_t>(node)].front(); }
};

/// Returns the nodes. `host` is this rank's host.
/// Collective: called by all ranks together; blocks.
Nodes find_nodes(comm::Communicator& world, const std::string& host = host_name());

}  // namespace dt::run
