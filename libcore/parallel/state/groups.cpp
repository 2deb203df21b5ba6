#include "parallel/state/groups.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "parallel/state/mesh.hpp"

namespace dt::parallel {

namespace {
using comm::DeviceGroupUse;
constexpr int same_order = -1;
}  // namespace

Groups::Groups(const model::Layout& layout, comm::Communicator& world, std::span<const Channel> channels,
               std::int64_t key_value_heads)
    : control_(&world), exposed_(&world.engine()) {
  DT_CHECK(world.size() == layout.size(), "{} ranks for a layout of {}", world.size(), layout.size());
  const model::MeshCoordinates place = layout.coordinates_of(world.rank());
  comm::Communicator* data = &world;
  if (layout.dp < layout.size() && (layout.cp < layout.size()))
    data = make(world, place.pp * layout.tp + place.tp, "data", layout.data_rank(place),
                DeviceGroupUse::overlapping);
  reductions_.fill(divide(layout, model::ReductionAxis::data, data, ""));
  if (layout.ep > 1) make_expert(layout);
  if (layout.tp > 1) make_tensor(layout, key_value_heads);
  const int pipeline = place.dp * layout.tp + place.tp;
  if (layout.cp > 1)
    context_ = make(world, place.pp * layout.dp * layout.tp + pipeline, "context", same_order,
                    DeviceGroupUse::waited_for);
  for (const std::vector<Channel>& together : disjoint_channel_rounds(channels))
    make_channels(layout, together);
}

/// Divides the ranks of a reduction as ZeRO divides their state.
ReductionRanks Groups::divide(const model::Layout& layout, model::ReductionAxis axis, comm::Communicator* all,
                              const std::string& prefix) {
  if (layout.zero == 0) return {.all = all, .replicas = all};
  const int size = layout.group_size(axis), rank = all->rank();
  if (size == all->size()) return {.all = all, .shards = all};
  DT_CHECK(all->size() % size == 0, "{} ranks in groups of {}", all->size(), size);
  const auto part = [&](int color, const char* name) {
    return make(*all, color, prefix + name, same_order, DeviceGroupUse::overlapping);
  };
  comm::Communicator* const shards = part(rank / size, "shards");
  return {.all = all, .shards = shards, .replicas = part(rank % size, "replicas")};
}

/// Makes the groups of ranks that divide experts, and of those that have the same ones.
void Groups::make_expert(const model::Layout& layout) {
  comm::Communicator& data = *this->data();
  const int rank = layout.expert_rank(layout.coordinates_of(control_->rank()));
  expert_ = layout.ep == data.size()
                ? &data
                : make(data, data.rank() / layout.ep, "expert", same_order, DeviceGroupUse::waited_for);
  comm::Communicator* const same = make(data, rank, "expert data", same_order, DeviceGroupUse::overlapping);
  reductions_[static_cast<std::size_t>(model::ReductionAxis::expert_data)] =
      divide(layout, model::ReductionAxis::expert_data, same, "expert ");
}

void Groups::make_tensor(const model::Layout& layout, std::int64_t key_value_heads) {
  comm::Communicator& world = *control_;
  const model::MeshCoordinates place = layout.coordinates_of(world.rank());
  tensor_ = layout.tp == layout.size() ? &world
                                       : make(world, (place.pp * layout.dp + place.dp) * layout.cp + place.cp,
                                              "tensor", same_order, DeviceGroupUse::waited_for);
  if (key_value_heads >= layout.tp) return;
  const int shard = shard_index(key_value_heads, layout.tp, place.tp);
  tensor_replicas_ = key_value_heads == 1
                         ? tensor_
                         : make(*tensor_, shard, "tensor replicas", same_order, DeviceGroupUse::waited_for);
}

void Groups::make_stage(const model::Layout& layout) {
  const model::MeshCoordinates place = layout.coordinates_of(control_->rank());
  stage_ =
      layout.pp == 1 ? control_ : make(*control_, place.pp, "stage", same_order, DeviceGroupUse::waited_for);
}

/// Makes one group for each channel. No rank is in two of these channels.
void Groups::make_channels(const model::Layout& layout, std::span<const Channel> together) {
  comm::Communicator& world = *control_;
  const model::MeshCoordinates place = layout.coordinates_of(world.rank());
  const auto mine = std::find_if(together.begin(), together.end(), [&](const Channel& c) {
    return c.sender == place.pp || c.receiver == place.pp;
  });
  if (mine == together.end()) {
    world.split(std::nullopt, 0, {});
    return;
  }
  const int pipelines = layout.data_ranks() * layout.tp;
  const auto index = static_cast<int>(mine - together.begin());
  channels_[*mine] = make(world, index * pipelines + layout.data_rank(place) * layout.tp + place.tp,
                          to_string(*mine), same_order, DeviceGroupUse::pipeline);
}

comm::Communicator& Groups::channel(const Channel& channel) const {
  const auto found = channels_.find(channel);
  DT_CHECK(found != channels_.end(), "{} is none of this rank's", to_string(channel));
  return *found->second;
}

/// Makes the group of those ranks of `from` that pass the same `color`, in the order of their keys,
/// or in their order in `from`.
comm::Communicator* Groups::make(comm::Communicator& from, int color, const std::string& name, int key,
                                 DeviceGroupUse use) {
  made_.push_back(from.split(color, key < 0 ? from.rank() : key, name, use));
  return made_.back().get();
}

void Groups::poll() const {
  if (control_) control_->engine().progress();
}

}  // namespace dt::parallel
