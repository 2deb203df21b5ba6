#include "comm/topology/host_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/system/host.hpp"
#include "comm/exchange.hpp"

namespace dt::comm {

int ranks_on_host(Communicator& group) {
  const std::vector<std::string> hosts = gather_texts(group, host_name());
  return static_cast<int>(std::count(hosts.begin(), hosts.end(), host_name()));
}

std::vector<int> order_by_host(const std::vector<std::string>& hosts) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) first.try_emplace(hosts[rank], rank);
  std::vector<int> order(hosts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return first[hosts[static_cast<std::size_t>(a)]] < first[hosts[static_cast<std::size_t>(b)]];
  });
  return order;
}

int in_host_order(const Ranks& ranks, const std::string& host, const std::function<int(const Ranks&)>& body) {
  const std::vector<int> order = order_by_host(gather_texts(ranks.world, host));
  if (std::is_sorted(order.begin(), order.end())) return body(ranks);
  const auto place = std::find(order.begin(), order.end(), ranks.world.rank()) - order.begin();
  const auto group = ranks.world.split(0, static_cast<int>(place), "by host");
  return body({*group, ranks.console, ranks.abort, ranks.are_processes, ranks.collectives, ranks.nccl});
}

}  // namespace dt::comm
