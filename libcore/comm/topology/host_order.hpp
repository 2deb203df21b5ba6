#pragma once
// Orders ranks by their hosts.

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/ranks.hpp"

namespace dt::comm {

/// Returns how many ranks of the group are on this rank's host.
/// Collective: all ranks call it; blocks.
int ranks_on_host(Communicator& group);

/// Returns ranks in the order of their hosts, given each rank's host, whatever order the launcher
/// numbered them in. Ranks of a host follow each other in their order, and hosts come in the order of
/// their first ranks. Rank 0 stays first.
std::vector<int> order_by_host(const std::vector<std::string>& hosts);

/// Runs `body` with the ranks in the order of their hosts, as a group of their own unless they are in that
/// order already. `host` is this rank's. Returns what `body` returns.
/// Collective: all ranks call it; blocks.
int in_host_order(const Ranks& ranks, const std::string& host, const std::function<int(const Ranks&)>& body);

}  // namespace dt::comm
