#pragma once
// The hosts of a job, and which ranks are on each.

#include <string>
#include <vector>

#include "base/host.hpp"
#include "comm/communicator.hpp"

namespace dt::run {

struct Nodes {
  std::vector<std::vector<int>> ranks;  // of each node, ascending; nodes in the order of their first rank
  std::vector<std::string> hosts;       // each node's
  int own = 0;                          // this rank's node

  int size() const { return static_cast<int>(ranks.size()); }
  /// The rank that acts for a node.
  int leader(int node) const { return ranks[static_cast<std::size_t>(node)].front(); }
};

/// Called by all ranks together. `host` is this rank's.
Nodes find_nodes(comm::Communicator& world, const std::string& host = host_name());

}  // namespace dt::run
