#include "parallel/weight_store.hpp"

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
    const bool is_divided = spec.division.divides_weights();
    Buffer buffer(device,
                  static_cast<std::size_t>(is_divided ? spec.own.count : spec.numel) * dtype_bytes(dtype));
    Group group;
    (is_divided ? group.part : group.whole) = std::move(buffer);
    group.is_whole = !is_divided;
    groups_.push_back(std::move(group));
  }
  for (const int unit : local.units()) {
    const std::vector<int>& own = local.groups_of(unit);
    if (std::none_of(own.begin(), own.end(), [&](int group) { return is_divided(group); })) find_views(unit);
  }
}

Tensor WeightStore::whole(int group) const {
  return Tensor(groups_[at(group)].whole, dtype_, Shape{local_.group(group).numel});
}

Tensor WeightStore::part(int group) const {
  const Part& own = local_.group(group).own;
  if (!is_divided(group)) return whole(group).flat(own.begin, own.count);
  return Tensor(groups_[at(group)].part, dtype_, Shape{own.count});
}

void WeightStore::changed() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Group& g = groups_[group];
    DT_CHECK(g.users == 0 && !g.gathering, "weights change while they are in use");
    g.is_whole = !local_.groups()[group].division.divides_optimizer();
  }
}

void WeightStore::start_gather(int group) {
  Group& g = groups_[at(group)];
  g.is_whole = true;
  g.gathering = ranks_.shards()->all_gather(part(group), whole(group), shard_granule);
}

void WeightStore::gather(int unit) {
  bool has_moved = false;
  for (const int group : local_.groups_of(unit)) {
    Group& g = groups_[at(group)];
    has_moved = has_moved || is_divided(group);
    if (is_divided(group) && g.users++ == 0)
      g.whole = pool_.take(static_cast<std::size_t>(local_.group(group).numel) * dtype_bytes(dtype_));
    if (!g.is_whole) start_gather(group);
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
    if (!is_divided(group)) continue;
    Group& g = groups_[at(group)];
    DT_CHECK(g.users > 0, "unit {} is released but was not gathered", unit);
    unit_weights_[at(unit)].clear();
    if (--g.users > 0) continue;
    finish_gather(context, g);
    g.is_whole = false;
    pool_.give(std::move(g.whole));
  }
}

const std::vector<Tensor>& WeightStore::of_unit(const Context& context, int unit) {
  for (const int group : local_.groups_of(unit)) {
    Group& g = groups_[at(group)];
    DT_CHECK(g.is_whole, "unit {} computes with weights that were not gathered", unit);
    finish_gather(context, g);
  }
  return unit_weights_[at(unit)];
}

void WeightStore::find_views(int unit) {
  std::vector<Tensor> views;
  for (const int param : local_.params_of(unit)) {
    const LocalParam& p = local_.param(param);
    views.push_back(p.in_whole(whole(p.group)));
  }
  unit_weights_[at(unit)] = std::move(views);
}

std::size_t WeightStore::bytes() const {
  std::size_t total = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    total += is_divided(static_cast<int>(group)) ? groups_[group].part.bytes() : groups_[group].whole.bytes();
  return total;
}

}  // namespace dt::parallel
