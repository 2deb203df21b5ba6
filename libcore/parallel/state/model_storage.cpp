#include "parallel/state/model_storage.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

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
  g.gathering = ranks_.reduction(local_.group(group).reduction)
                    .shards->all_gather(shard(group), full(group), shard_granule);
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

ModelStorage::ModelStorage(Device device, const LocalTable& local, Precision precision, const LanePlan* plan,
                           const Groups& ranks, std::vector<StateKind> state_kinds)
    : local_(local),
      precision_(precision),
      ranks_(ranks),
      state_kinds_(std::move(state_kinds)),
      weights_(device, local, precision.compute, ranks),
      states_(local.groups().size()) {
  for (const LocalGroup& group : local.groups()) {
    const comm::Communicator* const shards = ranks.reduction(group.reduction).shards;
    const int num_shards = shards ? shards->size() : 1;
    DT_CHECK(group.sharding.size == num_shards, "{} ranks for state divided by {}", num_shards,
             group.sharding.size);
  }
  for (const StateKind& kind : state_kinds_) layouts_.emplace_back(local, kind);
  if (!plan) return;
  gradients_ = make_gradient_store(device, local, precision, *plan, ranks);
  for (int group = 0; group < num_groups(); ++group) {
    const auto buffer = [&](DType dtype, std::int64_t numel) {
      return Buffer(device, static_cast<std::size_t>(numel) * dtype_bytes(dtype));
    };
    State& state = states_[to_index(group)];
    if (precision_.has_masters())
      state.masters = buffer(precision_.master(), local_.group(group).state_numel());
    for (std::size_t kind = 0; kind < layouts_.size(); ++kind)
      state.states.push_back(buffer(state_dtype(kind), layouts_[kind].numel(group)));
  }
}

std::optional<std::size_t> ModelStorage::find_kind(std::string_view name) const {
  const auto found = std::ranges::find(state_kinds_, name, &StateKind::name);
  if (found == state_kinds_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - state_kinds_.begin());
}

Tensor ModelStorage::state(const Buffer& buffer, DType dtype, std::int64_t numel) {
  if (buffer.bytes() == 0 && numel > 0) return {};  // only in evaluation
  return Tensor(buffer, dtype, Shape{numel});
}

Tensor ModelStorage::group_masters(int group) const {
  if (!precision_.has_masters()) return group_weights(group);
  return state(states_[to_index(group)].masters, precision_.master(), local_.group(group).state_numel());
}

std::vector<Tensor> ModelStorage::group_states(int group) const {
  std::vector<Tensor> tensors;
  const std::vector<Buffer>& buffers = states_[to_index(group)].states;
  for (std::size_t kind = 0; kind < buffers.size(); ++kind)
    tensors.push_back(state(buffers[kind], state_dtype(kind), layouts_[kind].numel(group)));
  return tensors;
}

Tensor ModelStorage::param_state(const LocalParam& param, std::size_t kind) const {
  const StateLayout& layout = layouts_[kind];
  DT_CHECK(layout.covers(param), "{} has no {}", local_.spec(param).name, state_kinds_[kind].name);
  const Buffer& buffer = states_[to_index(param.group)].states[kind];
  return state(buffer, state_dtype(kind), layout.numel(param.group))
      .flat(layout.offset(param), state_piece(local_, param, state_kinds_[kind]).numel());
}

void ModelStorage::set_weights(const Context& context, const LocalParam& param, const FillPiece& fill) {
  weights_.mark_updated();  // also if another rank holds all of it: ranks gather together
  if (param.owned_piece.numel() == 0) return;
  const Tensor weights = param.view_in_shard(group_weights(param.group));
  if (!precision_.has_masters()) return fill_from_host(context, param.owned_piece, weights, fill);
  const Tensor masters = group_masters(param.group);
  const Arena::Scope scope(context.scratch());
  const Tensor values = masters ? param.view_in_shard(masters)
                                : context.scratch().allocate(precision_.master(), weights.shape());
  fill_from_host(context, param.owned_piece, values, fill);
  kernels::cast(context, values, weights);
}

namespace {

/// Bytes that come and go with a unit's turn, by global unit.
using UnitBytesInTurn = std::vector<std::size_t>;

std::size_t most_of_neighbours(const std::vector<int>& units, const UnitBytesInTurn& bytes) {
  std::size_t most = bytes[to_index(units[0])];
  for (std::size_t i = 0; i + 1 < units.size(); ++i)
    most = std::max(most, bytes[to_index(units[i])] + bytes[to_index(units[i + 1])]);
  return most;
}

/// Returns twice the most bytes of a unit, since a unit may follow itself from one micro-batch to
/// the next. This happens to the head in GPipe's forwards, and to a unit that is alone in its
/// stage.
std::size_t twice_the_most(const UnitBytesInTurn& bytes) {
  return 2 * *std::max_element(bytes.begin(), bytes.end());
}

/// Counts the memory of travelling gradients, in addition to those that stay.
class Reductions {
 public:
  Reductions(const LocalTable& local, const Precision& precision, bool is_repeated)
      : local_(local),
        gradient_bytes_(dtype_bytes(precision.gradient)),
        wire_bytes_(precision.wire() == precision.gradient ? 0 : dtype_bytes(precision.wire())),
        is_repeated_(is_repeated),
        units_(local.table().units().size()) {
    for (const LocalGroup& group : local.groups()) add(group);
  }

  /// Returns the most bytes: of the current micro-batch and of the one whose sum is under way. A
  /// sum that is made once a step is under way until the step's end.
  std::size_t most() const {
    const std::size_t in_turn =
        is_repeated_ ? twice_the_most(units_) : most_of_neighbours(local_.units(), units_);
    return std::max(in_turn + until_end_, replicas_);
  }

 private:
  void add(const LocalGroup& group) {
    const auto whole = static_cast<std::size_t>(group.numel),
               part = static_cast<std::size_t>(group.owned_range.count);
    if (local_.shards_gradients()) {
      const std::size_t arrives = is_repeated_ ? part : 0;  // the first sum arrives where it stays
      for (const int unit : group.holders)
        units_[to_index(unit)] += (whole + arrives) * gradient_bytes_ + whole * wire_bytes_;
    } else if (group.sharding.shards_optimizer() || group.num_replicas > 1) {
      until_end_ += group.holders.size() * whole * wire_bytes_;
    }
    if (group.num_replicas > 1) replicas_ += group.holders.size() * part * wire_bytes_;
  }

  const LocalTable& local_;
  std::size_t gradient_bytes_, wire_bytes_;  // 0: gradients travel as they are
  bool is_repeated_;
  UnitBytesInTurn units_;
  std::size_t until_end_ = 0, replicas_ = 0;
};

}  // namespace

StorageBytes ModelStorage::estimate(const LocalTable& local, Precision precision, const LanePlan* plan,
                                    std::span<const StateKind> state_kinds) {
  StorageBytes total;
  std::vector<StateLayout> layouts;
  for (const StateKind& kind : state_kinds) layouts.emplace_back(local, kind);
  UnitBytesInTurn unit_weights(local.table().units().size());
  for (int index = 0; index < static_cast<int>(local.groups().size()); ++index) {
    const LocalGroup& group = local.group(index);
    const auto whole = static_cast<std::size_t>(group.numel),
               part = static_cast<std::size_t>(group.owned_range.count),
               masters = static_cast<std::size_t>(group.state_numel());
    std::size_t state_bytes = 0;
    for (std::size_t kind = 0; kind < layouts.size(); ++kind)
      state_bytes += static_cast<std::size_t>(layouts[kind].numel(index)) *
                     dtype_bytes(state_kinds[kind].dtype_beside(precision.master()));
    const std::size_t weight_bytes = dtype_bytes(precision.compute),
                      gradient_bytes = dtype_bytes(precision.gradient),
                      master_bytes = dtype_bytes(precision.master());
    const ZeroSharding& sharding = group.sharding;
    total.weights += (sharding.shards_weights() ? part : whole) * weight_bytes;
    for (const int unit : group.holders)
      unit_weights[to_index(unit)] += sharding.shards_weights() ? whole * weight_bytes : 0;
    if (!plan) continue;
    total.gradients += (local.shards_gradients() ? part : whole * to_index(std::max(1, plan->depth()))) *
                       group.holders.size() * gradient_bytes;
    if (local.has_remote_tied_end(group)) total.gradients += part * gradient_bytes;
    total.optimizer += (precision.has_masters() ? masters : 0) * master_bytes + state_bytes;
    total.checkpoint += masters * master_bytes + state_bytes;
  }
  // The current unit, and the next one that is computed in a row with it.
  total.gathered = most_of_neighbours(local.units(), unit_weights);
  if (plan) total.gathered += Reductions(local, precision, plan->num_micro_batches() > 1).most();
  return total;
}

StorageBytes ModelStorage::bytes() const {
  StorageBytes total;
  total.weights = weights_.bytes();
  total.gathered = weights_.peak_gathered_bytes();
  if (!gradients_) return total;
  total.gradients = gradients_->bytes();
  total.gathered += gradients_->peak_full_bytes();
  for (const State& state : states_) {
    total.optimizer += state.masters.bytes();
    for (const Buffer& buffer : state.states) total.optimizer += buffer.bytes();
  }
  total.checkpoint = total.optimizer;
  if (!precision_.has_masters()) {
    for (int group = 0; group < num_groups(); ++group)
      total.checkpoint += local_.group(group).has_state ? group_weights(group).bytes() : 0;
  }
  return total;
}

}  // namespace dt::parallel
