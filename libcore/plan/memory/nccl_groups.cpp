#include "plan/memory/nccl_groups.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "comm/device_collectives/rounds.hpp"
#include "optim/muon.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "plan/action_lists.hpp"
#include "tensor/device/gpu_probe.hpp"

namespace dt::plan {

namespace {

/// Places of the plan's ranks, seen from the plan's place.
class Ranks {
 public:
  explicit Ranks(const Plan& plan) : plan_(plan) {
    for (int rank = 0; rank < plan.layout.size(); ++rank) {
      if (plan.layout.coordinates_of(rank) == plan.place) own_ = rank;
    }
  }
  /// Returns the ranks for which `color` is as for this rank, in order.
  template <class Color>
  std::vector<int> like(const Color& color) const {
    const auto own = color(plan_.place);
    std::vector<int> ranks;
    for (int rank = 0; rank < plan_.layout.size(); ++rank) {
      if (color(plan_.layout.coordinates_of(rank)) == own) ranks.push_back(rank);
    }
    return ranks;
  }
  /// Returns the same in the order of data ranks; see model::Layout::data_rank.
  template <class Color>
  std::vector<int> data_ranks_like(const Color& color) const {
    std::vector<int> ranks = like(color);
    std::ranges::sort(ranks, {},
                      [&](int rank) { return plan_.layout.data_rank(plan_.layout.coordinates_of(rank)); });
    return ranks;
  }
  int own() const { return own_; }

 private:
  const Plan& plan_;
  int own_ = 0;
};

/// The ranks with which a rank of a communicator exchanges by ncclSend and ncclRecv.
enum class Peers {
  none,
  next,     // sends to the next rank of a ring, and receives from the previous one
  summing,  // exchanges terms of sums in dt's order, or unequal parts: see comm::Levels
  all,
};

/// The work of a rank in a communicator, perhaps for several purposes.
struct NcclUse {
  Peers peers = Peers::none;
  std::vector<DType> sums{};  // in dt's order, of values of these types
  bool gathers = false, reduces = false;

  NcclUse& operator+=(const NcclUse& other) {
    peers = std::max(peers, other.peers);
    sums.insert(sums.end(), other.sums.begin(), other.sums.end());
    gathers |= other.gathers, reduces |= other.reduces;
    return *this;
  }
};

/// The ranks of a group with which one of them exchanges, by their place in it.
struct PeersOfRank {
  std::set<int> sends, receives;

  void add(const comm::Levels& levels) {
    levels.for_neighbours([&](int to, int from) {
      sends.insert(levels.rank_of(levels.node, to)), receives.insert(levels.rank_of(levels.node, from));
    });
    levels.for_nodes([&](int to, int from) {
      sends.insert(levels.rank_of(to, levels.local)), receives.insert(levels.rank_of(from, levels.local));
    });
  }
};

PeersOfRank peers_of(const NcclUse& work, int own, std::span<const int> hosts) {
  const auto size = static_cast<int>(hosts.size());
  PeersOfRank peers;
  // The ranks of a communicator of two send each other something when it is made.
  if (work.peers == Peers::next || size == 2) peers = {{(own + 1) % size}, {(own + size - 1) % size}};
  for (int peer = 0; work.peers == Peers::all && peer < size; ++peer) {
    if (peer != own) peers.sends.insert(peer), peers.receives.insert(peer);
  }
  if (work.peers != Peers::summing) return peers;
  const auto levels = comm::Levels::of(own, size, comm::placement_of(hosts));
  peers.add(levels);
  for (const DType dtype : work.sums) peers.add(levels.of_sums(dtype));
  return peers;
}

NcclGroup group_of(const Plan& plan, const Ranks& ranks, const std::vector<int>& members,
                   comm::DeviceGroupUse use, const NcclUse& work) {
  std::vector<int> hosts;
  std::map<int, int> of_host;
  for (const int rank : members) ++of_host[hosts.emplace_back(plan.launch.host_of(rank))];
  NcclGroup group{.ranks = static_cast<int>(members.size()),
                  .nodes = static_cast<int>(of_host.size()),
                  .max_ctas = comm::max_ctas(use),
                  .gathers = work.gathers,
                  .reduces = work.reduces};
  for (const auto& [host, count] : of_host) group.local_ranks = std::max(group.local_ranks, count);
  const auto own = std::find(members.begin(), members.end(), ranks.own()) - members.begin();
  const PeersOfRank peers = peers_of(work, static_cast<int>(own), hosts);
  const auto is_near = [&](int peer) {
    return hosts[static_cast<std::size_t>(peer)] == hosts[static_cast<std::size_t>(own)];
  };
  for (const int peer : peers.sends) ++(is_near(peer) ? group.local_sends : group.remote_sends);
  for (const int peer : peers.receives) ++(is_near(peer) ? group.local_receives : group.remote_receives);
  return group;
}

/// Returns the work of sums. In dt's order they are exchanges between ranks; in NCCL's own order they
/// are its operations.
NcclUse sums(const Plan& plan, DType dtype) {
  if (plan.reduce_order == comm::ReduceOrder::free) return {.reduces = true};
  return {.peers = Peers::summing, .sums = {dtype}};
}

/// Returns the work of sums and gathers of a reduction's state, which ranks divide. NCCL gathers equal
/// parts, and may sum them by itself. Unequal parts are exchanged.
NcclUse divided_sums(const Plan& plan, const parallel::LocalTable& local, model::ReductionAxis axis) {
  NcclUse work;
  for (const parallel::LocalGroup& group : local.groups()) {
    if (plan.layout.ep > 1 && group.reduction != axis) continue;
    const int size = group.sharding.size;
    const auto count = [&](int rank) {
      return even_range(rank, size, group.numel, parallel::shard_granule).count;
    };
    bool are_equal = true;
    for (int rank = 1; rank < size; ++rank) are_equal = are_equal && count(rank) == count(0);
    if (are_equal) {
      work += sums(plan, plan.precision.wire());
      work.gathers = true;
    } else {
      work += {.peers = Peers::summing, .sums = {plan.precision.wire()}};
    }
  }
  return work;
}

class Collected {
 public:
  Collected(const Plan& plan, const Ranks& ranks) : plan_(plan), ranks_(ranks) {}

  /// Adds to the work of the communicator of all ranks.
  void add_to_world(const NcclUse& work) { of_world_ += work; }
  /// Adds a communicator that was split from that of all ranks. A single rank has none.
  void add(const std::string& name, comm::DeviceGroupUse use, const std::vector<int>& members,
           const NcclUse& work) {
    if (members.size() > 1) groups_.push_back({name, use, group_of(plan_, ranks_, members, use, work)});
  }
  std::vector<NamedNcclGroup> all() {
    std::vector<NamedNcclGroup> split = std::exchange(groups_, {});
    add("world", world_stream_use(plan_), ranks_.like([](const model::MeshCoordinates&) { return 0; }),
        of_world_);
    groups_.insert(groups_.end(), split.begin(), split.end());
    return std::move(groups_);
  }

 private:
  const Plan& plan_;
  const Ranks& ranks_;
  NcclUse of_world_;
  std::vector<NamedNcclGroup> groups_;
};

/// Adds the communicators of a reduction's ranks and of the parts in which they divide state.
void add_reduction(const Plan& plan, const parallel::LocalTable& local, const Ranks& ranks,
                   model::ReductionAxis axis, Collected& groups) {
  const model::Layout& layout = plan.layout;
  const bool are_experts = axis == model::ReductionAxis::expert_data;
  const std::string prefix = are_experts ? "expert " : "";
  const int size = layout.group_size(axis);
  const bool is_divided = layout.zero > 0, in_groups = is_divided && size < layout.reduction_ranks(axis);
  const auto ranks_like = [&](const auto& part_of) {
    return ranks.data_ranks_like([&](const model::MeshCoordinates& p) {
      const int experts = are_experts ? layout.expert_rank(p) : 0;
      return std::tuple(p.pp, p.tp, experts, part_of(layout.reduction_rank(p, axis)));
    });
  };
  const DType wire = plan.precision.wire();
  NcclUse work;
  if (!in_groups) work = is_divided ? divided_sums(plan, local, axis) : sums(plan, wire);
  if (!are_experts && (layout.dp == layout.size() || layout.cp == layout.size()))
    groups.add_to_world(work);
  else
    groups.add(prefix + "data", comm::DeviceGroupUse::overlapping, ranks_like([](int) { return 0; }), work);
  if (!in_groups) return;
  groups.add(prefix + "shards", comm::DeviceGroupUse::overlapping,
             ranks_like([&](int rank) { return rank / size; }), divided_sums(plan, local, axis));
  groups.add(prefix + "replicas", comm::DeviceGroupUse::overlapping,
             ranks_like([&](int rank) { return rank % size; }), sums(plan, wire));
}

/// Adds the communicators that divided experts have beside those of all parameters.
void add_expert(const Plan& plan, const parallel::LocalTable& local, const Ranks& ranks, Collected& groups) {
  const model::Layout& layout = plan.layout;
  if (layout.ep == 1) return;
  if (layout.ep < layout.data_ranks())
    groups.add("expert", comm::DeviceGroupUse::waited_for,
               ranks.data_ranks_like([&](const model::MeshCoordinates& p) {
                 return std::tuple(p.pp, p.tp, layout.data_rank(p) / layout.ep);
               }),
               {});
  add_reduction(plan, local, ranks, model::ReductionAxis::expert_data, groups);
}

/// Returns the work of sums of gradients of which tensor-parallel ranks have only parts.
NcclUse sums_over(const Plan& plan, const parallel::LocalTable& local, parallel::TensorSum over) {
  NcclUse work;
  for (const parallel::LocalGroup& group : local.groups()) {
    if (std::ranges::any_of(group.tensor_sums, [over](const auto& sum) { return sum.over == over; }))
      work += sums(plan, plan.precision.gradient);
  }
  return work;
}

void add_tensor(const Plan& plan, const parallel::LocalTable& local, const Ranks& ranks, Collected& groups) {
  const model::Layout& layout = plan.layout;
  if (layout.tp == 1) return;
  const auto tensor =
      ranks.like([](const model::MeshCoordinates& p) { return std::tuple(p.pp, p.dp, p.cp); });
  const std::int64_t heads = plan.spec.key_value_heads;
  const NcclUse over_replicas = sums_over(plan, local, parallel::TensorSum::replicas);
  NcclUse work = sums(plan, plan.precision.compute);  // sums of rows
  work.gathers = true;  // gathers of rows, and of what the head's ranks have found
  if (plan.spec.qk_norm == model::QkNorm::full_width)
    work += sums(plan, statistics_dtype(plan.precision.compute));  // statistics of rows
  work += sums_over(plan, local, parallel::TensorSum::all);
  if (heads == 1) work += over_replicas;
  if (layout.tp == layout.size())
    groups.add_to_world(work);
  else
    groups.add("tensor", comm::DeviceGroupUse::waited_for, tensor, work);
  if (heads >= layout.tp || heads == 1) return;
  const auto replicas = ranks.like([&](const model::MeshCoordinates& p) {
    return std::tuple(p.pp, p.dp, p.cp, parallel::shard_index(heads, layout.tp, p.tp));
  });
  groups.add("tensor replicas", comm::DeviceGroupUse::waited_for, replicas, over_replicas);
}

void add_context(const Plan& plan, const Ranks& ranks, Collected& groups) {
  if (plan.layout.cp == 1) return;
  const auto context =
      ranks.like([](const model::MeshCoordinates& p) { return std::tuple(p.pp, p.dp, p.tp); });
  groups.add("context", comm::DeviceGroupUse::waited_for, context, {.peers = Peers::next});
}

/// Adds the ranks that exchange whole matrices.
void add_stage(const Plan& plan, const Ranks& ranks, Collected& groups) {
  if (!optim::updates_matrices(plan.optimizer)) return;
  if (plan.layout.pp == 1) return groups.add_to_world({.peers = Peers::all});
  groups.add("stage", comm::DeviceGroupUse::waited_for,
             ranks.like([](const model::MeshCoordinates& p) { return p.pp; }), {.peers = Peers::all});
}

/// Adds the pipeline's channels. Each is a communicator of two ranks.
void add_channels(const Plan& plan, const Ranks& ranks, Collected& groups) {
  for (const parallel::Channel& channel : parallel::channels_of(pipeline_of(plan))) {
    if (channel.sender != plan.place.pp && channel.receiver != plan.place.pp) continue;
    std::vector<int> ends = ranks.like([&](const model::MeshCoordinates& p) {
      const bool is_end = p.pp == channel.sender || p.pp == channel.receiver;
      return std::tuple(is_end, p.dp, p.cp, p.tp);
    });
    groups.add(parallel::to_string(channel), comm::DeviceGroupUse::pipeline, ends, {.peers = Peers::next});
  }
}

}  // namespace

std::vector<NamedNcclGroup> nccl_groups(const Plan& plan, const parallel::LocalTable& local) {
  const Ranks ranks(plan);
  Collected groups(plan, ranks);
  add_reduction(plan, local, ranks, model::ReductionAxis::data, groups);
  add_expert(plan, local, ranks, groups);
  add_tensor(plan, local, ranks, groups);
  add_context(plan, ranks, groups);
  add_stage(plan, ranks, groups);
  add_channels(plan, ranks, groups);
  return groups.all();
}

NcclTopology nccl_topology(const Gpu& gpu, const std::string& library) {
  NcclTopology topology;
  const bool is_on_paper = gpu.name == "simulated";
  topology.within = is_on_paper || has_nvlink(gpu.name) ? NodeLinks::nvswitch : NodeLinks::pcie;
  if (gpu.major > 0) topology.compute_major = gpu.major;
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(library.c_str(), "NCCL %d.%d.%d", &major, &minor, &patch) == 3)
    topology.version = major * 10000 + minor * 100 + patch;
  return topology;
}

NcclBytes nccl_bytes(const Plan& plan, const parallel::LocalTable& local) {
  if (plan.launch.device_collectives.empty()) return {};
  const NcclTopology topology = nccl_topology(plan.launch.gpu, plan.launch.device_collectives);
  const NcclSettings settings = nccl_settings([](const char* name) { return std::getenv(name); });
  NcclBytes bytes;
  for (const NamedNcclGroup& named : nccl_groups(plan, local))
    bytes += nccl_memory(named.group, topology, settings);
  return bytes;
}

}  // namespace dt::plan
