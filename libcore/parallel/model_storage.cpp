#include "parallel/model_storage.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/flat.hpp"

namespace dt::parallel {

ModelStorage::ModelStorage(const model::ParameterTable& table, Precision precision, const LanePlan* plan,
                           const Sharding& sharding)
    : table_(table),
      precision_(precision),
      sharding_(sharding),
      division_(sharding.division()),
      weights_(table, precision.compute, sharding),
      states_(table.groups().size()) {
  if (!plan) return;
  gradients_.emplace(table, precision, *plan, sharding);
  for (int group = 0; group < num_groups(); ++group) {
    const auto buffer = [&] {
      return Buffer(Device{}, static_cast<std::size_t>(own(group).count) * dtype_bytes(precision_.master()));
    };
    State& state = states_[at(group)];
    if (precision_.has_masters()) state.masters = buffer();
    state.first_moment = buffer();
    state.second_moment = buffer();
  }
}

comm::Part ModelStorage::own(int group) const {
  return division_.own(table_.groups()[at(group)].numel);
}

void ModelStorage::poll() {
  if (sharding_.shards) sharding_.shards->engine().progress();
  if (sharding_.replicas) sharding_.replicas->engine().progress();
}

Tensor ModelStorage::state(int group, const Buffer& buffer) const {
  return Tensor(buffer.data(), precision_.master(), Shape{own(group).count});
}

Tensor ModelStorage::group_masters(int group) const {
  return precision_.has_masters() ? state(group, states_[at(group)].masters) : group_weights(group);
}
Tensor ModelStorage::group_first_moment(int group) const {
  return state(group, states_[at(group)].first_moment);
}
Tensor ModelStorage::group_second_moment(int group) const {
  return state(group, states_[at(group)].second_moment);
}

void ModelStorage::set_weights(const Context& context, int param,
                               const std::function<void(const Piece& piece, const Tensor& values)>& fill) {
  const Piece piece = piece_of(param);
  if (piece.numel() == 0) return;
  const int group = table_.group_of(param);
  const Tensor weights = param_in(group_weights(group), param);
  weights_.changed();
  if (!precision_.has_masters()) return fill(piece, weights);
  const Tensor masters = group_masters(group);
  const Arena::Scope scope(context.scratch());
  const Tensor values =
      masters ? param_in(masters, param) : context.scratch().allocate(precision_.master(), weights.shape());
  fill(piece, values);
  kernels::convert(context, values, weights);
}

Piece ModelStorage::piece_of(int param) const {
  return held_of(Piece::whole(table_.params()[at(param)].shape), offset_of(table_, param),
                 own(table_.group_of(param)));
}

Tensor ModelStorage::param_in(const Tensor& part, int param) const {
  const Piece piece = piece_of(param);
  if (piece.numel() == 0) return part.flat(0, 0);
  const std::int64_t begin = offset_of(table_, param) + piece.begin - own(table_.group_of(param)).begin;
  const Tensor held = part.flat(begin, piece.numel());
  return piece.is_whole() ? held.reshaped(piece.global) : held;
}

StorageBytes ModelStorage::estimate(const model::ParameterTable& table, Precision precision,
                                    const LanePlan* plan, const Division& division) {
  StorageBytes total;
  std::vector<std::size_t> unit_weights(table.units().size()), unit_gradients(table.units().size());
  for (const model::GroupSpec& spec : table.groups()) {
    const auto whole = static_cast<std::size_t>(spec.numel);
    const auto part = static_cast<std::size_t>(division.own(spec.numel).count);
    const std::size_t weight_bytes = dtype_bytes(precision.compute),
                      gradient_bytes = dtype_bytes(precision.gradient),
                      master_bytes = dtype_bytes(precision.master());
    total.weights += (division.divides_weights() ? part : whole) * weight_bytes;
    if (!plan) continue;
    total.gradients += (division.divides_gradients() ? part : whole * at(std::max(1, plan->depth()))) *
                       spec.holders.size() * gradient_bytes;
    total.optimizer += (precision.has_masters() ? 3 : 2) * part * master_bytes;
    total.checkpoint += 3 * part * master_bytes;
    for (const int unit : spec.holders) {
      unit_weights[at(unit)] += division.divides_weights() ? whole * weight_bytes : 0;
      unit_gradients[at(unit)] += division.divides_gradients() ? whole * gradient_bytes : 0;
    }
  }
  // The unit in work and the next one; the one in work and the one whose sum is under way.
  for (const std::vector<std::size_t>& units : {unit_weights, unit_gradients}) {
    std::size_t most = 0;
    for (std::size_t unit = 0; unit + 1 < units.size(); ++unit)
      most = std::max(most, units[unit] + units[unit + 1]);
    total.gathered += most;
  }
  return total;
}

StorageBytes ModelStorage::bytes() const {
  StorageBytes total;
  total.weights = weights_.bytes();
  total.gathered = weights_.most_gathered_bytes();
  if (!gradients_) return total;
  total.gradients = gradients_->bytes();
  total.gathered += gradients_->most_gathered_bytes();
  for (const State& state : states_) {
    total.optimizer += state.masters.bytes() + state.first_moment.bytes() + state.second_moment.bytes();
    total.checkpoint += (precision_.has_masters() ? 3 : 2) * state.first_moment.bytes();
  }
  if (!precision_.has_masters()) {
    for (int group = 0; group < num_groups(); ++group) total.checkpoint += group_weights(group).bytes();
  }
  return total;
}

}  // namespace dt::parallel
