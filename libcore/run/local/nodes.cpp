#include "run/local/nodes.hpp"

#include <algorithm>

#include "comm/exchange.hpp"

namespace dt::run {

Nodes find_nodes(comm::Communicator& world, const std::string& host) {
  Nodes nodes;
  const std::vector<std::string> hosts = comm::gather_texts(world, host);
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::string& name = hosts[static_cast<std::size_t>(rank)];
    const auto known = std::find(nodes.hosts.begin(), nodes.hosts.end(), name);
    const auto node = static_cast<std::size_t>(known - nodes.hosts.begin());
    if (known == nodes.hosts.end()) {
      nodes.hosts.push_back(name);
      nodes.ranks.emplace_back();
    }
    nodes.ranks[node].push_back(rank);
    if (rank == world.rank()) nodes.own = static_cast<int>(node);
  }
  return nodes;
}

}  // namespace dt::run
