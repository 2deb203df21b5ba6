#include "parallel/state/local_table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tensor/piece.hpp"

namespace dt::parallel {

namespace {

/// Returns the elements of [begin, end) of the flat buffer that lie in a range of it; may be none.
Range intersection(const Range& part, std::int64_t begin, std::int64_t end) {
  begin = std::max(begin, part.begin);
  end = std::min(end, part.begin + part.count);
  return {begin, std::max<std::int64_t>(0, end - begin)};
}

/// Returns whether a run begins at the end of another.
bool follows(const Range& next, const Range& run) {
  return run.begin + run.count == next.begin;
}

/// Appends a run that lies behind all earlier ones.
void add_counted(LocalGroup& group, const Range& run) {
  if (run.count == 0) return;
  if (!group.counted_ranges.empty() && follows(run, group.counted_ranges.back()))
    group.counted_ranges.back().count += run.count;
  else
    group.counted_ranges.push_back(run);
}

void add_tensor_sum(LocalGroup& group, TensorSum over, const Range& run) {
  if (over == TensorSum::none || run.count == 0) return;
  std::vector<TensorSumRange>& sums = group.tensor_sums;
  if (!sums.empty() && sums.back().over == over && follows(run, sums.back().range))
    sums.back().range.count += run.count;
  else
    sums.push_back({over, run});
}

}  // namespace

Piece LocalParam::piece_within(const Range& part) const {
  Piece some = piece;
  const std::int64_t shift = piece.begin - offset;
  const std::int64_t end = std::clamp(part.begin + part.count + shift, piece.begin, piece.end);
  some.begin = std::clamp(part.begin + shift, piece.begin, piece.end);
  some.end = std::max(some.begin, end);
  return some;
}

Tensor LocalParam::view_in_full(const Tensor& whole) const {
  return whole.flat(offset, piece.numel()).reshaped(piece.box);
}

Tensor LocalParam::view_in_shard(const Tensor& own_shard) const {
  if (owned_piece.numel() == 0) return own_shard.flat(0, 0);
  const Tensor owned = own_shard.flat(owned_offset, owned_piece.numel());
  return owned_piece == piece ? owned.reshaped(piece.box) : owned;
}

LocalTable::LocalTable(const model::ParameterTable& table, const model::Layout& layout,
                       const model::MeshCoordinates& place)
    : table_(table),
      layout_(layout),
      place_(place),
      unit_groups_(table.units().size()),
      unit_params_(table.units().size()) {
  const std::string why = model::expert_axis_error(layout, table.num_experts());
  DT_CHECK(why.empty(), "{}", why);
  const auto num_units = static_cast<int>(table.units().size());
  const std::vector<int> stages = model::stages_of(layout, num_units);
  for (int unit = 0; unit < num_units; ++unit) {
    if (stages[to_index(unit)] == place.pp) units_.push_back(unit);
  }
  find_groups();
  find_params();
  for (LocalGroup& group : groups_) lay_out_group(group);
}

/// Finds the groups that any of this rank's units computes with.
void LocalTable::find_groups() {
  const auto is_here = [&](int unit) { return std::binary_search(units_.begin(), units_.end(), unit); };
  for (int group = 0; group < static_cast<int>(table_.groups().size()); ++group) {
    const model::GroupSpec& spec = table_.groups()[to_index(group)];
    LocalGroup local;
    std::copy_if(spec.units.begin(), spec.units.end(), std::back_inserter(local.holders), is_here);
    if (local.holders.empty()) continue;
    for (const int unit : local.holders)
      unit_groups_[to_index(unit)].push_back(static_cast<int>(groups_.size()));
    local.group = group;
    local.has_state = is_here(spec.owner);
    local.reduction = spec.reduction;
    local.sharding = zero_sharding_of(layout_, place_, spec.reduction);
    local.replica = layout_.replica_of(place_, spec.reduction);
    local.num_replicas = layout_.num_replicas(spec.reduction);
    local.sums_replicas_last =
        local.num_replicas > 1 && (local.sharding.shards_optimizer() || shards_gradients());
    groups_.push_back(std::move(local));
  }
}

/// Finds the parameters of these groups. lay_out() sets their offsets.
void LocalTable::find_params() {
  std::vector<int> local_group(table_.groups().size(), -1), local_param(table_.params().size(), -1);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    local_group[to_index(groups_[g].group)] = static_cast<int>(g);
  for (int param = 0; param < static_cast<int>(table_.params().size()); ++param) {
    const int group = local_group[to_index(table_.group_of(param))];
    if (group < 0) continue;
    const model::ParamSpec& spec = table_.params()[to_index(param)];
    local_param[to_index(param)] = static_cast<int>(params_.size());
    LocalParam& local = params_.emplace_back();
    local.param = param;
    local.group = group;
    local.piece = shard_piece(spec, layout_, place_);
    local.is_owned = groups_[to_index(group)].has_state && owns_shard(spec, layout_, place_);
  }
  const auto find = [&](const std::vector<int>& params, std::vector<int>& found) {
    for (const int param : params) found.push_back(local_param[to_index(param)]);
  };
  for (LocalGroup& group : groups_) find(table_.groups()[to_index(group.group)].params, group.params);
  for (const int unit : units_) find(table_.units()[to_index(unit)].params, unit_params_[to_index(unit)]);
}

model::FlatLayout LocalTable::flat_layout(const LocalGroup& group) const {
  const std::vector<int>& params = table_.groups()[to_index(group.group)].params;
  std::vector<std::vector<std::int64_t>> numels(to_index(layout_.tp));
  model::MeshCoordinates place = place_;
  for (place.tp = 0; place.tp < layout_.tp; ++place.tp) {
    for (const int param : params)
      numels[to_index(place.tp)].push_back(
          shard_piece(table_.params()[to_index(param)], layout_, place).numel());
  }
  return table_.flat_layout(params, numels, place_.tp);
}

void LocalTable::lay_out_group(LocalGroup& group) {
  const model::FlatLayout flat = flat_layout(group);
  group.numel = flat.numel;
  group.owned_range = group.sharding.owned_range(group.numel);
  for (std::size_t i = 0; i < group.params.size(); ++i) {
    LocalParam& param = params_[to_index(group.params[i])];
    param.offset = flat.offsets[i];
    param.owned_piece = param.piece_within(group.owned_range);
    param.owned_offset = param.offset + param.owned_piece.begin - group.owned_range.begin;
    const std::int64_t end = i + 1 < flat.offsets.size() ? flat.offsets[i + 1] : group.numel;
    const Range run = intersection(group.owned_range, param.offset, end);
    if (param.is_owned) add_counted(group, run);
    add_tensor_sum(group, tensor_sum_of(spec(param), layout_), run);
  }
}

bool LocalTable::shards_gradients() const {
  return zero_sharding_of(layout_, place_, model::ReductionAxis::data).shards_gradients();
}

const std::vector<int>& LocalTable::groups_of(int unit) const {
  DT_CHECK(holds(unit), "unit {} is not held by stage {}", unit, place_.pp);
  return unit_groups_[to_index(unit)];
}

const std::vector<int>& LocalTable::params_of(int unit) const {
  DT_CHECK(holds(unit), "unit {} is not held by stage {}", unit, place_.pp);
  return unit_params_[to_index(unit)];
}

bool LocalTable::has_remote_tied_end(const LocalGroup& group) const {
  return group.has_state && group.holders.size() < table_.groups()[to_index(group.group)].units.size();
}

int LocalTable::tied_group() const {
  const auto is_tied = [&](const LocalGroup& g) {
    return table_.groups()[to_index(g.group)].units.size() > 1;
  };
  const auto found = std::find_if(groups_.begin(), groups_.end(), is_tied);
  return found == groups_.end() ? -1 : static_cast<int>(found - groups_.begin());
}

namespace {

bool holds_first_element(const Piece& piece) {
  return piece.numel() > 0 && piece.begin == 0 &&
         std::ranges::all_of(piece.start, [](auto s) { return s == 0; });
}

/// Appends the pieces that the rank owns of the parameters of one reduction, whose replicas are the same
/// ranks.
void append_owned(const LocalTable& local, std::span<const std::size_t> kind_bytes, const HeldState& held,
                  model::ReductionAxis reduction, std::vector<OwnedPiece>& owned) {
  std::vector<OwnedPiece> alike;  // pieces that the rank and its replicas own
  std::vector<SizedPiece> sized;
  for (std::size_t param = 0; param < local.params().size(); ++param) {
    const LocalParam& p = local.params()[param];
    if (local.group(p.group).reduction != reduction) continue;
    for (std::size_t kind = 0; kind < kind_bytes.size(); ++kind) {
      const Piece piece = held ? held(p, kind) : p.owned_piece;
      if (!p.is_owned || piece.numel() == 0) continue;
      if (piece.global != p.owned_piece.global && !holds_first_element(p.owned_piece)) continue;
      alike.push_back({static_cast<int>(param), static_cast<int>(kind), piece});
      sized.push_back({piece, kind_bytes[kind]});
    }
  }
  const int replica = local.layout().replica_of(local.place(), reduction);
  for (const IndexedPiece& own : partition_by_bytes(sized, replica, local.layout().num_replicas(reduction)))
    owned.push_back({alike[own.index].param, alike[own.index].kind, own.piece});
}

}  // namespace

std::vector<OwnedPiece> owned_pieces(const LocalTable& local, std::span<const std::size_t> kind_bytes,
                                     const HeldState& held) {
  std::vector<OwnedPiece> owned;
  for (const model::ReductionAxis reduction : model::reduction_axes)
    append_owned(local, kind_bytes, held, reduction, owned);
  std::ranges::stable_sort(owned, {}, [](const OwnedPiece& own) { return std::pair(own.param, own.kind); });
  return owned;
}

}  // namespace dt::parallel
