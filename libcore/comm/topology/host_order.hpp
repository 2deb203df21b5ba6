#pragma once
// Orders ranks by their hosts, whatever order the launcher numbered them in.

#include <functional>
#include <string>
#include <vector>

#include "comm/ranks.hpp"

namespace dt::comm {

/// Returns ranks in the order of their hosts, given each rank's host. Ranks of a host follow each other
/// in their order, and hosts come in the order of their first ranks. Rank 0 stays first.
std::vector<int> order_by_host(const std::vector<std::string>& hosts);

/// Runs `body` with the ranks in that order, as a group of their own unless they are in that order
/// already. `host` is this rank's. Returns what `body` returns.
/// Collective: all ranks call it; blocks.
int in_host_order(const Ranks& ranks, const std::string& host, const std::function<int(const Ranks&)>& body);

}  // namespace dt::comm
