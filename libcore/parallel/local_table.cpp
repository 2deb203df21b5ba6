#include "parallel/local_table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tensor/piece_share.hpp"

namespace dt::parallel {

namespace {

/// Returns the elements of a piece, laid from element `offset` of a flat buffer, that lie in a part
/// of that buffer; may be none.
Piece held_of(Piece piece, std::int64_t offset, const Part& part) {
  const std::int64_t shift = piece.begin - offset;
  const std::int64_t end = std::clamp(part.begin + part.count + shift, piece.begin, piece.end);
  piece.begin = std::clamp(part.begin + shift, piece.begin, piece.end);
  piece.end = std::max(piece.begin, end);
  return piece;
}

/// Returns the elements of [begin, end) of the flat buffer that lie in a part of it; may be none.
Part within(const Part& part, std::int64_t begin, std::int64_t end) {
  begin = std::max(begin, part.begin);
  end = std::min(end, part.begin + part.count);
  return {begin, std::max<std::int64_t>(0, end - begin)};
}

/// Returns whether a run begins at the end of another.
bool follows(const Part& next, const Part& run) {
  return run.begin + run.count == next.begin;
}

/// Appends a run that lies behind all earlier ones.
void add_counted(LocalGroup& group, const Part& run) {
  if (run.count == 0) return;
  if (!group.counted.empty() && follows(run, group.counted.back()))
    group.counted.back().count += run.count;
  else
    group.counted.push_back(run);
}

void add_tensor_sum(LocalGroup& group, TensorSum over, const Part& run) {
  if (over == TensorSum::none || run.count == 0) return;
  std::vector<TensorSumRun>& sums = group.tensor_sums;
  if (!sums.empty() && sums.back().over == over && follows(run, sums.back().run))
    sums.back().run.count += run.count;
  else
    sums.push_back({over, run});
}

}  // namespace

Tensor LocalParam::in_whole(const Tensor& whole) const {
  return whole.flat(offset, slice.numel()).reshaped(slice.box);
}

Tensor LocalParam::in_part(const Tensor& own_part) const {
  if (part.numel() == 0) return own_part.flat(0, 0);
  const Tensor held = own_part.flat(part_offset, part.numel());
  return part == slice ? held.reshaped(slice.box) : held;
}

LocalTable::LocalTable(const model::ParameterTable& table, const model::Layout& layout,
                       const model::Place& place)
    : table_(table),
      layout_(layout),
      place_(place),
      unit_groups_(table.units().size()),
      unit_params_(table.units().size()) {
  const auto num_units = static_cast<int>(table.units().size());
  const std::vector<int> stages = model::stages_of(layout, num_units);
  for (int unit = 0; unit < num_units; ++unit) {
    if (stages[at(unit)] == place.pp) units_.push_back(unit);
  }
  find_groups();
  find_params();
  for (LocalGroup& group : groups_) lay_out(group);
}

/// Finds the groups that any of this rank's units computes with.
void LocalTable::find_groups() {
  const auto is_here = [&](int unit) { return std::binary_search(units_.begin(), units_.end(), unit); };
  for (int group = 0; group < static_cast<int>(table_.groups().size()); ++group) {
    const model::GroupSpec& spec = table_.groups()[at(group)];
    LocalGroup local;
    std::copy_if(spec.holders.begin(), spec.holders.end(), std::back_inserter(local.holders), is_here);
    if (local.holders.empty()) continue;
    for (const int unit : local.holders) unit_groups_[at(unit)].push_back(static_cast<int>(groups_.size()));
    local.group = group;
    local.has_state = is_here(spec.owner);
    local.division = division_of(layout_, layout_.data_rank(place_));
    groups_.push_back(std::move(local));
  }
}

/// Finds the parameters of these groups. lay_out() sets their offsets.
void LocalTable::find_params() {
  std::vector<int> local_group(table_.groups().size(), -1), local_param(table_.params().size(), -1);
  for (std::size_t g = 0; g < groups_.size(); ++g) local_group[at(groups_[g].group)] = static_cast<int>(g);
  for (int param = 0; param < static_cast<int>(table_.params().size()); ++param) {
    const int group = local_group[at(table_.group_of(param))];
    if (group < 0) continue;
    const model::ParamSpec& spec = table_.params()[at(param)];
    local_param[at(param)] = static_cast<int>(params_.size());
    LocalParam& local = params_.emplace_back();
    local.param = param;
    local.group = group;
    local.slice = slice_of(spec, layout_.tp, place_.tp);
    local.is_owned = groups_[at(group)].has_state && owns_slice(spec, layout_.tp, place_.tp);
  }
  const auto find = [&](const std::vector<int>& params, std::vector<int>& found) {
    for (const int param : params) found.push_back(local_param[at(param)]);
  };
  for (LocalGroup& group : groups_) find(table_.groups()[at(group.group)].params, group.params);
  for (const int unit : units_) find(table_.units()[at(unit)].params, unit_params_[at(unit)]);
}

model::FlatLayout LocalTable::flat_layout(const LocalGroup& group) const {
  const std::vector<int>& params = table_.groups()[at(group.group)].params;
  std::vector<std::vector<std::int64_t>> numels(at(layout_.tp));
  for (int rank = 0; rank < layout_.tp; ++rank) {
    for (const int param : params)
      numels[at(rank)].push_back(slice_of(table_.params()[at(param)], layout_.tp, rank).numel());
  }
  return table_.lay_out(params, numels, place_.tp);
}

void LocalTable::lay_out(LocalGroup& group) {
  const model::FlatLayout flat = flat_layout(group);
  group.numel = flat.numel;
  group.own = group.division.own(group.numel);
  for (std::size_t i = 0; i < group.params.size(); ++i) {
    LocalParam& param = params_[at(group.params[i])];
    param.offset = flat.offsets[i];
    param.part = held_of(param.slice, param.offset, group.own);
    param.part_offset = param.offset + param.part.begin - group.own.begin;
    const std::int64_t end = i + 1 < flat.offsets.size() ? flat.offsets[i + 1] : group.numel;
    const Part run = within(group.own, param.offset, end);
    if (param.is_owned) add_counted(group, run);
    add_tensor_sum(group, tensor_sum_of(spec(param), layout_), run);
  }
}

const std::vector<int>& LocalTable::groups_of(int unit) const {
  DT_CHECK(holds(unit), "unit {} is not held by stage {}", unit, place_.pp);
  return unit_groups_[at(unit)];
}

const std::vector<int>& LocalTable::params_of(int unit) const {
  DT_CHECK(holds(unit), "unit {} is not held by stage {}", unit, place_.pp);
  return unit_params_[at(unit)];
}

bool LocalTable::has_end_elsewhere(const LocalGroup& group) const {
  return group.has_state && group.holders.size() < table_.groups()[at(group.group)].holders.size();
}

int LocalTable::tied_group() const {
  const auto is_tied = [&](const LocalGroup& g) { return table_.groups()[at(g.group)].holders.size() > 1; };
  const auto found = std::find_if(groups_.begin(), groups_.end(), is_tied);
  return found == groups_.end() ? -1 : static_cast<int>(found - groups_.begin());
}

std::vector<OwnedPiece> owned_pieces(const LocalTable& local, std::span<const std::size_t> kind_bytes) {
  std::vector<OwnedPiece> alike;  // pieces that the rank and its replicas own
  std::vector<SizedPiece> sized;
  for (std::size_t param = 0; param < local.params().size(); ++param) {
    const LocalParam& p = local.params()[param];
    for (std::size_t kind = 0; kind < kind_bytes.size(); ++kind) {
      if (!p.is_owned || p.part.numel() == 0) continue;
      alike.push_back({static_cast<int>(param), static_cast<int>(kind), p.part});
      sized.push_back({p.part, kind_bytes[kind]});
    }
  }
  std::vector<OwnedPiece> owned;
  for (const PieceShare& share : share_of(sized, local.replica(), local.num_replicas())) {
    owned.push_back({alike[share.index].param, alike[share.index].kind, share.piece});
  }
  return owned;
}

}  // namespace dt::parallel
