#include "parallel/state/weight_store.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace dt::parallel {

WeightStore::WeightStore(Device device, const LocalTable& local, DType dtype, const Groups& ranks)
    : local_(local),
      dtype_(dtype),
      ranks_(ranks),
      unit_weights_(local.table().units().size()),
      pool_(device) {
  for (const LocalGroup& spec : local.groups()) {
    const bool is_divided = spec.sharding.shards_weights();
    Buffer buffer(device, static_cast<std::size_t>(is_divided ? spec.owned_range.count : spec.numel) *
                              dtype_bytes(dtype));
    Group group;
    (is_divided ? group.shard : group.full) = std::move(buffer);
    group.is_gathered = !is_divided;
    groups_.push_back(std::move(group));
  }
  for (const int unit : local.units()) {
    const std::vector<int>& own = local.groups_of(unit);
    if (std::none_of(own.begin(), own.end(), [&](int group) { return is_sharded(group); })) find_views(unit);
  }
}

Tensor WeightStore::full(int group) const {
  return Tensor(groups_[to_index(group)].full, dtype_, Shape{local_.group(group).numel});
}

Tensor WeightStore::shard(int group) const {
  const Range& own = local_.group(group).owned_range;
  if (!is_sharded(group)) return full(group).flat(own.begin, own.count);
  return Tensor(groups_[to_index(group)].shard, dtype_, Shape{own.count});
}

void WeightStore::mark_updated() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Group& g = groups_[group];
    DT_CHECK(g.num_users == 0 && !g.gathering, "weights change while they are in use");
    g.is_gathered = !local_.groups()[group].sharding.shards_optimizer();
  }
}

void WeightStore::start_gather(int group) {
  Group& g = groups_[to_index(group)];
  g.is_gathered = true;
  g.gathering = ranks_.shards()->all_gather(shard(group), full(group), shard_granule);
}

void WeightStore::gather(int unit) {
  bool has_moved = false;
  for (const int group : local_.groups_of(unit)) {
    Group& g = groups_[to_index(group)];
    has_moved = has_moved || is_sharded(group);
    if (is_sharded(group) && g.num_users++ == 0)
      g.full = pool_.acquire(static_cast<std::size_t>(local_.group(group).numel) * dtype_bytes(dtype_));
    if (!g.is_gathered) start_gather(group);
  }
  if (has_moved) find_views(unit);
}

void WeightStore::finish_gather(const Context& context, Group& group) {
  if (group.gathering) group.gathering->wait(context);
  group.gathering.reset();
}

void WeightStore::finish_gathers(const Context& context) {
  for (Group& group : groups_) finish_gather(context, group);
}

void WeightStore::release(const Context& context, int unit) {
  for (const int group : local_.groups_of(unit)) {
    if (!is_sharded(group)) continue;
    Group& g = groups_[to_index(group)];
    DT_CHECK(g.num_users > 0, "unit {} is released but was not gathered", unit);
    unit_weights_[to_index(unit)].clear();
    if (--g.num_users > 0) continue;
    finish_gather(context, g);
    g.is_gathered = false;
    pool_.release(std::move(g.full));
  }
}

const std::vector<Tensor>& WeightStore::unit_weights(const Context& context, int unit) {
  for (const int group : local_.groups_of(unit)) {
    Group& g = groups_[to_index(group)];
    DT_CHECK(g.is_gathered, "unit {} computes with weights that were not gathered", unit);
    finish_gather(context, g);
  }
  return unit_weights_[to_index(unit)];
}

void WeightStore::find_views(int unit) {
  std::vector<Tensor> views;
  for (const int param : local_.params_of(unit)) {
    const LocalParam& p = local_.param(param);
    views.push_back(p.view_in_full(full(p.group)));
  }
  unit_weights_[to_index(unit)] = std::move(views);
}

std::size_t WeightStore::bytes() const {
  std::size_t total = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    total += is_sharded(static_cast<int>(group)) ? groups_[group].shard.bytes() : groups_[group].full.bytes();
  return total;
}

}  // namespace dt::parallel
