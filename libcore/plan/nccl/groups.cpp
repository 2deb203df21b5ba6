#include "plan/nccl/groups.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "parallel/channels.hpp"
#include "plan/lists.hpp"

namespace dt::plan {

namespace {

/// Where the plan's ranks are, seen from the plan's place.
class Ranks {
 public:
  explicit Ranks(const Plan& plan) : plan_(plan) {
    for (int rank = 0; rank < plan.layout.size(); ++rank) {
      if (plan.layout.place_of(rank) == plan.place) own_ = rank;
    }
  }
  /// Those for which `color` is as for this rank.
  template <class Color>
  std::vector<int> like(const Color& color) const {
    const auto own = color(plan_.place);
    std::vector<int> ranks;
    for (int rank = 0; rank < plan_.layout.size(); ++rank) {
      if (color(plan_.layout.place_of(rank)) == own) ranks.push_back(rank);
    }
    return ranks;
  }
  int own() const { return own_; }
  bool is_near(int rank) const { return plan_.launch.host_of(rank) == plan_.launch.host_of(own_); }

 private:
  const Plan& plan_;
  int own_ = 0;
};

enum class Peers { none, neighbours, all };

/// What a rank does in a communicator, perhaps for several purposes.
struct Work {
  Peers sends_to = Peers::none;
  bool gathers = false, reduces = false;
};

void count_peer(const Ranks& ranks, int peer, bool is_send, NcclGroup& group) {
  int& count = ranks.is_near(peer) ? (is_send ? group.local_sends : group.local_receives)
                                   : (is_send ? group.remote_sends : group.remote_receives);
  ++count;
}

NcclGroup group_of(const Plan& plan, const Ranks& ranks, const std::vector<int>& members, comm::StreamUse use,
                   const Work& work) {
  std::map<int, int> of_host;
  for (const int rank : members) ++of_host[plan.launch.host_of(rank)];
  NcclGroup group{.ranks = static_cast<int>(members.size()),
                  .nodes = static_cast<int>(of_host.size()),
                  .most_ctas = comm::most_ctas(use),
                  .gathers = work.gathers,
                  .reduces = work.reduces};
  for (const auto& [host, count] : of_host) group.local_ranks = std::max(group.local_ranks, count);
  const auto own =
      static_cast<std::size_t>(std::find(members.begin(), members.end(), ranks.own()) - members.begin());
  const std::size_t size = members.size();
  for (std::size_t distance = 1; distance < size && work.sends_to != Peers::none; ++distance) {
    const bool is_next = distance == 1, is_before = distance == size - 1;
    const int peer = members[(own + distance) % size];
    if (work.sends_to == Peers::all || is_next) count_peer(ranks, peer, true, group);
    if (work.sends_to == Peers::all || is_before) count_peer(ranks, peer, false, group);
  }
  return group;
}

/// Sums of gradients in dt's order are exchanges between all ranks; in NCCL's own they are its operations.
Work sums(const Plan& plan) {
  if (plan.reduce_order == comm::ReduceOrder::free) return {.reduces = true};
  return {.sends_to = Peers::all};
}

/// Of state that ranks divide, which parts sums leave them: NCCL gathers equal ones, others are exchanged.
Work divided_sums(const parallel::LocalTable& local) {
  Work work{.sends_to = Peers::all};
  for (const parallel::LocalGroup& group : local.groups()) {
    const int size = group.division.size;
    const auto count = [&](int rank) {
      return part_of(rank, size, group.numel, parallel::shard_granule).count;
    };
    bool are_equal = true;
    for (int rank = 1; rank < size; ++rank) are_equal = are_equal && count(rank) == count(0);
    work.gathers = work.gathers || are_equal;
  }
  return work;
}

class Collected {
 public:
  Collected(const Plan& plan, const Ranks& ranks) : plan_(plan), ranks_(ranks) {}

  /// What is done in the communicator of all ranks.
  void add_to_world(const Work& work) {
    of_world_.sends_to = std::max(of_world_.sends_to, work.sends_to);
    of_world_.gathers |= work.gathers;
    of_world_.reduces |= work.reduces;
  }
  /// What is done in one that was split from it.
  void add(const std::string& name, comm::StreamUse use, const std::vector<int>& members, const Work& work) {
    groups_.push_back({name, use, group_of(plan_, ranks_, members, use, work)});
  }
  std::vector<NamedNcclGroup> all() {
    const std::vector<int> world = ranks_.like([](const model::Place&) { return 0; });
    const comm::StreamUse use = use_of_world(plan_);
    groups_.insert(groups_.begin(), {"world", use, group_of(plan_, ranks_, world, use, of_world_)});
    return std::move(groups_);
  }

 private:
  const Plan& plan_;
  const Ranks& ranks_;
  Work of_world_;
  std::vector<NamedNcclGroup> groups_;
};

void add_data(const Plan& plan, const parallel::LocalTable& local, const Ranks& ranks, Collected& groups) {
  const model::Layout& layout = plan.layout;
  const auto data = ranks.like([](const model::Place& p) { return std::pair(p.pp, p.tp); });
  const bool is_divided = layout.zero > 0,
             in_groups = is_divided && layout.group_size() < layout.data_ranks();
  const Work work = layout.data_ranks() == 1 || in_groups ? Work{}
                    : is_divided                          ? divided_sums(local)
                                                          : sums(plan);
  if (layout.dp == layout.size() || layout.cp == layout.size())
    groups.add_to_world(work);
  else
    groups.add("data", comm::StreamUse::overlapping, data, work);
  if (!in_groups) return;
  const auto part = [&](int divisor, bool is_rest) {
    return ranks.like([&, divisor, is_rest](const model::Place& p) {
      const int rank = layout.data_rank(p);
      return std::tuple(p.pp, p.tp, is_rest ? rank % divisor : rank / divisor);
    });
  };
  groups.add("shards", comm::StreamUse::overlapping, part(layout.group_size(), false), divided_sums(local));
  const auto replicas = part(layout.group_size(), true);
  groups.add("replicas", comm::StreamUse::overlapping, replicas, replicas.size() > 1 ? sums(plan) : Work{});
}

void add_tensor(const Plan& plan, const Ranks& ranks, Collected& groups) {
  const model::Layout& layout = plan.layout;
  if (layout.tp == 1) return;
  const auto tensor = ranks.like([](const model::Place& p) { return std::tuple(p.pp, p.dp, p.cp); });
  Work work = sums(plan);
  work.gathers = true;  // of what the head's ranks have found, and of rows
  if (layout.tp == layout.size())
    groups.add_to_world(work);
  else
    groups.add("tensor", comm::StreamUse::waited_for, tensor, work);
  const std::int64_t heads = plan.spec.key_value_heads;
  if (heads >= layout.tp || heads == 1) return;
  const auto replicas = ranks.like([&](const model::Place& p) {
    return std::tuple(p.pp, p.dp, p.cp, parallel::shard_of({0, heads}, layout.tp, p.tp));
  });
  groups.add("tensor replicas", comm::StreamUse::waited_for, replicas, sums(plan));
}

void add_context(const Plan& plan, const Ranks& ranks, Collected& groups) {
  if (plan.layout.cp == 1) return;
  const auto context = ranks.like([](const model::Place& p) { return std::tuple(p.pp, p.dp, p.tp); });
  groups.add("context", comm::StreamUse::waited_for, context, {.sends_to = Peers::neighbours});
}

/// Each is a communicator of two ranks, which sent each other something when it was made.
void add_channels(const Plan& plan, const Ranks& ranks, Collected& groups) {
  for (const parallel::Channel& channel : parallel::channels_of(pipeline_of(plan))) {
    if (channel.sender != plan.place.pp && channel.receiver != plan.place.pp) continue;
    std::vector<int> ends = ranks.like([&](const model::Place& p) {
      const bool is_end = p.pp == channel.sender || p.pp == channel.receiver;
      return std::tuple(is_end, p.dp, p.cp, p.tp);
    });
    groups.add(parallel::to_string(channel), comm::StreamUse::pipeline, ends, {.sends_to = Peers::all});
  }
}

bool has_nvswitch(const Gpu& gpu) {
  if (gpu.name.find("PCI") != std::string::npos || gpu.name.find("NVL") != std::string::npos) return false;
  constexpr std::array names = {"on paper", "A100-SXM", "H100", "H200", "GH200", "B200", "B300"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return gpu.name.find(name) != std::string::npos; });
}

}  // namespace

std::vector<NamedNcclGroup> nccl_groups(const Plan& plan, const parallel::LocalTable& local) {
  const Ranks ranks(plan);
  Collected groups(plan, ranks);
  add_data(plan, local, ranks, groups);
  add_tensor(plan, ranks, groups);
  add_context(plan, ranks, groups);
  add_channels(plan, ranks, groups);
  return groups.all();
}

NcclTopology nccl_topology(const Gpu& gpu, const std::string& library) {
  NcclTopology topology;
  topology.within = has_nvswitch(gpu) ? NodeLinks::nvswitch : NodeLinks::pcie;
  if (gpu.major > 0) topology.compute_major = gpu.major;
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(library.c_str(), "NCCL %d.%d.%d", &major, &minor, &patch) == 3)
    topology.version = major * 10000 + minor * 100 + patch;
  return topology;
}

NcclBytes nccl_bytes(const Plan& plan, const parallel::LocalTable& local) {
  if (plan.launch.streams.empty()) return {};
  const NcclTopology topology = nccl_topology(plan.launch.gpu, plan.launch.streams);
  const NcclSettings settings = nccl_settings([](const char* name) { return std::getenv(name); });
  NcclBytes bytes;
  for (const NamedNcclGroup& named : nccl_groups(plan, local))
    bytes += nccl_memory(named.group, topology, settings);
  return bytes;
}

}  // namespace dt::plan
