#include "parallel/mesh.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "parallel/index.hpp"

namespace dt::parallel {

namespace {

/// Which of its shards a tp rank holds: its own, or with fewer shards than ranks ⌊rank·shards/tp⌋.
std::int64_t shard_of(const model::Split& split, int tp, int tp_rank) {
  return split.max_shards < tp ? tp_rank * split.max_shards / tp : tp_rank;
}

}  // namespace

MeshPlace Mesh::place_of(int rank) const {
  DT_CHECK(rank >= 0 && rank < size(), "rank {} of a mesh of {}", rank, size());
  return {rank / tp / dp, rank / tp % dp, rank % tp};
}

Division Mesh::division_of(int dp_rank) const {
  if (zero == 0) return {};
  return {zero, dp_rank % group_size(), group_size()};
}

std::string why_impossible(const Mesh& mesh, const model::ParameterTable& table) {
  const auto layers = static_cast<int>(table.units().size()) - 2;
  if (mesh.pp > layers) {
    return fmt::format("pp={} stages for {} layers: at most pp={} gives each a layer", mesh.pp, layers,
                       layers);
  }
  if (mesh.zero == 0 && mesh.zero_group != 0) return "zero-group without zero: add zero=1, 2 or 3";
  if (mesh.dp % mesh.group_size() != 0) {
    return fmt::format("groups of zero-group={} do not make up dp={}: it must divide it", mesh.zero_group,
                       mesh.dp);
  }
  return {};
}

StageUnits even_stages(int num_units, int pp) {
  StageUnits stages;
  for (int stage = 0; stage < pp; ++stage) {
    const comm::Part blocks = comm::part_of(stage, pp, num_units - 2);
    const auto first = 1 + static_cast<int>(blocks.begin), count = static_cast<int>(blocks.count);
    const bool is_last = stage + 1 == pp;
    stages.push_back({{stage == 0 ? 0 : first, is_last ? num_units : first + count}});
  }
  return stages;
}

std::vector<int> stages_of(const Mesh& mesh, int num_units) {
  const StageUnits table = mesh.stages.empty() ? even_stages(num_units, mesh.pp) : mesh.stages;
  DT_CHECK(static_cast<int>(table.size()) == mesh.pp, "units for {} stages of {}", table.size(), mesh.pp);
  std::vector<int> stages(at(num_units), -1);
  for (int stage = 0; stage < mesh.pp; ++stage) {
    for (const UnitRange& range : table[at(stage)]) {
      for (int unit = range.begin; unit < range.end; ++unit) {
        DT_CHECK(unit >= 0 && unit < num_units && stages[at(unit)] < 0,
                 "unit {} of {} is held by stage {} and another", unit, num_units, stage);
        stages[at(unit)] = stage;
      }
    }
  }
  const auto missing = std::find(stages.begin(), stages.end(), -1) - stages.begin();
  DT_CHECK(missing == num_units, "unit {} is held by no stage", missing);
  return stages;
}

Piece slice_of(const model::ParamSpec& param, int tp, int tp_rank) {
  Piece slice = Piece::whole(param.shape);
  const model::Split& split = param.split;
  if (split.dim < 0) return slice;
  const auto shards = static_cast<int>(std::min<std::int64_t>(split.max_shards, tp));
  const comm::Part own =
      comm::part_of(static_cast<int>(shard_of(split, tp, tp_rank)), shards, split.max_shards);
  const std::int64_t unit = param.shape[split.dim] / split.max_shards;
  std::vector<std::int64_t> extents = slice.box.dims();
  slice.start[at(split.dim)] = own.begin * unit;
  extents[at(split.dim)] = own.count * unit;
  slice.box = Shape(extents);
  slice.end = slice.box.numel();
  return slice;
}

bool owns_slice(const model::ParamSpec& param, int tp, int tp_rank) {
  return tp_rank == 0 || shard_of(param.split, tp, tp_rank) != shard_of(param.split, tp, tp_rank - 1);
}

}  // namespace dt::parallel
