#include "plan/launch.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/host.hpp"
#include "comm/exchange.hpp"

namespace dt::plan {

namespace {

int ranks_per_node(const std::vector<std::string>& hosts) {
  const auto first_of_next =
      std::find_if(hosts.begin(), hosts.end(), [&](const auto& h) { return h != hosts[0]; });
  const auto count = static_cast<std::size_t>(first_of_next - hosts.begin());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts.size() % count != 0 || hosts[rank] != hosts[rank / count * count]) return 0;
    if (rank >= count && rank % count == 0 && hosts[rank] == hosts[rank - 1]) return 0;
  }
  return static_cast<int>(count);
}

/// Of each, its number among those that differ.
std::vector<int> numbers_of(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  std::vector<int> of_each;
  for (const std::string& name : names)
    of_each.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  return of_each;
}

}  // namespace

int Launch::host_of(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return index < hosts.size() ? hosts[index] : rank / std::max(1, ranks_per_node);
}

int Launch::gpu_of(int rank) const {
  if (const auto index = static_cast<std::size_t>(rank); index < gpus.size()) return gpus[index];
  const int of_host = std::max(1, gpus_per_node);
  return host_of(rank) * of_host + rank % std::max(1, ranks_per_node) % of_host;
}

Launch find_launch(comm::Communicator& world, int num_ranks) {
  const std::string host = host_name();
  std::string own = host + "\n";
  for (const int core : available_core_numbers()) own += std::to_string(core) + " ";
  std::set<int> cores;
  int ranks = 0;
  std::vector<std::string> hosts;  // of each rank
  std::vector<std::string> texts = comm::gather_texts(world, own);
  texts.resize(static_cast<std::size_t>(num_ranks));
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    std::string other;
    std::getline(lines, other);
    hosts.push_back(other);
    if (other != host) continue;
    ++ranks;
    for (int core = 0; lines >> core;) cores.insert(core);
  }
  return {.rank = std::min(world.rank(), num_ranks - 1),
          .num_ranks = num_ranks,
          .cores = std::max(1, static_cast<int>(cores.size()) / std::max(1, ranks)),
          .ranks_per_node = ranks_per_node(hosts),
          .hosts = numbers_of(hosts)};
}

Launch of_first(const Launch& launch, int num_ranks) {
  Launch first = launch;
  first.num_ranks = std::min(launch.num_ranks, num_ranks);
  first.rank = std::min(launch.rank, first.num_ranks - 1);
  first.ranks_per_node = std::min(launch.ranks_per_node, first.num_ranks);
  if (first.ranks_per_node > 0 && first.num_ranks % first.ranks_per_node != 0) first.ranks_per_node = 0;
  return first;
}

}  // namespace dt::plan
