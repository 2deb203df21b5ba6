#pragma once
// Ranks in the order of their hosts, whatever order the launcher numbered them in.

#include <functional>
#include <string>
#include <vector>

#include "comm/ranks.hpp"

namespace dt::comm {

/// Ranks, given each one's host, so that those of a host follow each other in their order, hosts in the order
/// of their first ranks. Rank 0 stays first.
std::vector<int> host_order(const std::vector<std::string>& hosts);

/// Called by all ranks together: runs `body` with them in that order, as a group of their own where they are
/// not in it already. `host` is this rank's.
int in_host_order(const Ranks& ranks, const std::string& host, const std::function<int(const Ranks&)>& body);

}  // namespace dt::comm
