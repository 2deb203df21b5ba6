#include "plan/launch.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/system/cgroup.hpp"
#include "base/system/host.hpp"
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

/// Returns for each name its number among the distinct names.
std::vector<int> numbers_of(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  std::vector<int> of_each;
  for (const std::string& name : names)
    of_each.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  return of_each;
}

/// The CPU resources that a rank may use.
struct Bounds {
  std::string host;
  std::string quota_group{};  // the cgroup that bounds its processor time, "" if there is none
  int quota_cores = 0;        // cores that the quota allows, rounded up
  std::vector<int> cores;
};

Bounds own_bounds() {
  Bounds own{.host = host_name(), .cores = available_core_numbers()};
  if (const auto quota = cgroup_cpu_quota()) {
    own.quota_group = quota->group;
    own.quota_cores = static_cast<int>(std::ceil(std::min(quota->cpus, 1e6)));
  }
  return own;
}

std::string to_text(const Bounds& bounds) {
  return fmt::format("{}\n{}\n{} {}", bounds.host, bounds.quota_group, bounds.quota_cores,
                     fmt::join(bounds.cores, " "));
}

Bounds parse_bounds(const std::string& text) {
  std::istringstream lines(text);
  Bounds bounds;
  std::getline(lines, bounds.host);
  std::getline(lines, bounds.quota_group);
  lines >> bounds.quota_cores;
  for (int core = 0; lines >> core;) bounds.cores.push_back(core);
  return bounds;
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
  const Bounds own = own_bounds();
  std::set<int> cores;
  int ranks = 0, with_quota = 0;   // on this host
  std::vector<std::string> hosts;  // hosts of all ranks
  std::vector<std::string> texts = comm::gather_texts(world, to_text(own));
  texts.resize(static_cast<std::size_t>(num_ranks));
  for (const std::string& text : texts) {
    const Bounds other = parse_bounds(text);
    hosts.push_back(other.host);
    if (other.host != own.host) continue;
    ++ranks;
    with_quota += other.quota_group == own.quota_group ? 1 : 0;
    cores.insert(other.cores.begin(), other.cores.end());
  }
  int share = static_cast<int>(cores.size()) / std::max(1, ranks);
  if (own.quota_cores > 0) share = std::min(share, own.quota_cores / std::max(1, with_quota));
  return {.rank = std::min(world.rank(), num_ranks - 1),
          .num_ranks = num_ranks,
          .cores = std::max(1, share),
          .ranks_per_node = ranks_per_node(hosts),
          .hosts = numbers_of(hosts)};
}

Launch launch_on_subset(const Launch& launch, int num_ranks) {
  Launch first = launch;
  first.num_ranks = std::min(launch.num_ranks, num_ranks);
  first.rank = std::min(launch.rank, first.num_ranks - 1);
  first.ranks_per_node = std::min(launch.ranks_per_node, first.num_ranks);
  if (first.ranks_per_node > 0 && first.num_ranks % first.ranks_per_node != 0) first.ranks_per_node = 0;
  return first;
}

}  // namespace dt::plan
