#include "parallel/weight_store.hpp"

#include <utility>

#include "base/error.hpp"
#include "parallel/flat.hpp"

namespace dt::parallel {

WeightStore::WeightStore(const model::ParameterTable& table, DType dtype, const Sharding& sharding)
    : table_(table), dtype_(dtype), sharding_(sharding), division_(sharding.division()) {
  for (const model::GroupSpec& spec : table.groups()) {
    const bool is_divided = division_.divides_weights();
    const std::int64_t held = is_divided ? division_.own(spec.numel).count : spec.numel;
    Buffer buffer(Device{}, static_cast<std::size_t>(held) * dtype_bytes(dtype));
    Group group;
    (is_divided ? group.part : group.whole) = std::move(buffer);
    group.is_whole = !is_divided;
    groups_.push_back(std::move(group));
  }
  unit_weights_.resize(table.units().size());
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    unit_groups_.push_back(groups_of(table, static_cast<int>(unit)));
    if (!division_.divides_weights()) find_views(static_cast<int>(unit));
  }
}

Tensor WeightStore::whole(int group) const {
  return Tensor(groups_[at(group)].whole.data(), dtype_, Shape{table_.groups()[at(group)].numel});
}

Tensor WeightStore::part(int group) const {
  const comm::Part own = division_.own(table_.groups()[at(group)].numel);
  if (!division_.divides_weights()) return whole(group).flat(own.begin, own.count);
  return Tensor(groups_[at(group)].part.data(), dtype_, Shape{own.count});
}

void WeightStore::changed() {
  for (Group& group : groups_) {
    DT_CHECK(group.users == 0 && !group.gathering, "weights change while they are in use");
    group.is_whole = !division_.divides_optimizer();
  }
}

void WeightStore::start_gather(int group) {
  Group& g = groups_[at(group)];
  g.is_whole = true;
  g.gathering = sharding_.shards->all_gather(part(group), whole(group), shard_granule);
}

void WeightStore::gather(int unit) {
  for (const int group : unit_groups_[at(unit)]) {
    Group& g = groups_[at(group)];
    if (division_.divides_weights() && g.users++ == 0) {
      g.whole = pool_.take(static_cast<std::size_t>(table_.groups()[at(group)].numel) * dtype_bytes(dtype_));
    }
    if (!g.is_whole) start_gather(group);
  }
  if (division_.divides_weights()) find_views(unit);
}

void WeightStore::finish_gather(Group& group) {
  if (group.gathering) group.gathering->wait();
  group.gathering.reset();
}

void WeightStore::finish_gathers() {
  for (Group& group : groups_) finish_gather(group);
}

void WeightStore::release(int unit) {
  if (!division_.divides_weights()) return;
  for (const int group : unit_groups_[at(unit)]) {
    Group& g = groups_[at(group)];
    DT_CHECK(g.users > 0, "unit {} is released but was not gathered", unit);
    if (--g.users > 0) continue;
    finish_gather(g);
    g.is_whole = false;
    pool_.give(std::move(g.whole));
  }
  unit_weights_[at(unit)].clear();
}

const std::vector<Tensor>& WeightStore::of_unit(int unit) {
  for (const int group : unit_groups_[at(unit)]) {
    Group& g = groups_[at(group)];
    DT_CHECK(g.is_whole, "unit {} computes with weights that were not gathered", unit);
    finish_gather(g);
  }
  return unit_weights_[at(unit)];
}

void WeightStore::find_views(int unit) {
  std::vector<Tensor> views;
  for (const int param : table_.units()[at(unit)].params)
    views.push_back(param_in(table_, whole(table_.group_of(param)), param));
  unit_weights_[at(unit)] = std::move(views);
}

std::size_t WeightStore::bytes() const {
  std::size_t total = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    total += division_.divides_weights() ? groups_[group].part.bytes() : groups_[group].whole.bytes();
  return total;
}

}  // namespace dt::parallel
