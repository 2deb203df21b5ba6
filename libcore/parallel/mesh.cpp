#include "parallel/mesh.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "parallel/flat.hpp"
#include "tensor/piece_share.hpp"

namespace dt::parallel {

namespace {

/// Which of its shards a tp rank holds: its own, or with fewer shards than ranks ⌊rank·shards/tp⌋.
std::int64_t shard_of(const model::Split& split, int tp, int tp_rank) {
  return split.max_shards < tp ? tp_rank * split.max_shards / tp : tp_rank;
}

bool divides_heads(std::int64_t tp, const model::ModelSpec& spec) {
  return spec.key_value_heads % tp == 0 || (tp % spec.key_value_heads == 0 && tp <= spec.query_heads);
}

/// Below and, where there is one, above: "tp=4 or tp=8".
std::string nearest_tp(std::int64_t tp, const model::ModelSpec& spec) {
  std::int64_t below = std::min(tp, spec.query_heads), above = tp;
  while (!divides_heads(below, spec)) --below;
  while (above <= spec.query_heads && !divides_heads(above, spec)) ++above;
  const std::string text = fmt::format("tp={}", below);
  return above > spec.query_heads ? text : fmt::format("{} or tp={}", text, above);
}

/// The slices of a group's parameters, and where they lie in its flat buffer.
struct Slices {
  std::vector<Piece> pieces;
  model::FlatLayout layout;
};

Slices slices_of(const model::ParameterTable& table, const model::GroupSpec& group, int tp, int tp_rank) {
  Slices slices;
  std::vector<std::int64_t> numels;
  for (const int param : group.params) {
    slices.pieces.push_back(slice_of(table.params()[at(param)], tp, tp_rank));
    numels.push_back(slices.pieces.back().numel());
  }
  slices.layout = table.lay_out(group.params, numels);
  return slices;
}

/// Of every parameter what the rank and its replicas own, empty ones too.
std::vector<Piece> parts_of(const model::ParameterTable& table, const Mesh& mesh, const MeshPlace& place) {
  std::vector<Piece> parts(table.params().size());
  const Division division = mesh.division_of(place.dp);
  for (const model::GroupSpec& group : table.groups()) {
    if (stage_of(table, group.owner, mesh.pp) != place.pp) continue;
    const Slices slices = slices_of(table, group, mesh.tp, place.tp);
    const comm::Part own = division.own(slices.layout.numel);
    for (std::size_t i = 0; i < group.params.size(); ++i) {
      const int param = group.params[i];
      if (!owns_slice(table.params()[at(param)], mesh.tp, place.tp)) continue;
      parts[at(param)] = held_of(slices.pieces[i], slices.layout.offsets[i], own);
    }
  }
  return parts;
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

std::string why_impossible(const Mesh& mesh, const model::ModelSpec& spec) {
  if (mesh.pp > spec.layers) {
    return fmt::format("pp={} stages for {} layers: at most pp={} gives each a layer", mesh.pp, spec.layers,
                       spec.layers);
  }
  if (!divides_heads(mesh.tp, spec)) {
    return fmt::format(
        "tp={} ranks for {} query heads over {} key-value heads: it must divide the latter, or be a multiple "
        "of them up to the former; {} would do",
        mesh.tp, spec.query_heads, spec.key_value_heads, nearest_tp(mesh.tp, spec));
  }
  if (mesh.zero == 0 && mesh.zero_group != 0) return "zero-group without zero: add zero=1, 2 or 3";
  if (mesh.dp % mesh.group_size() != 0) {
    return fmt::format("groups of zero-group={} do not make up dp={}: it must divide it", mesh.zero_group,
                       mesh.dp);
  }
  return {};
}

int stage_of(const model::ParameterTable& table, int unit, int pp) {
  const model::UnitSpec& spec = table.units()[at(unit)];
  if (spec.kind == model::UnitKind::embedding) return 0;
  if (spec.kind == model::UnitKind::head) return pp - 1;
  const auto layers = static_cast<int>(table.units().size()) - 2;
  int stage = 0;
  while (spec.layer >= comm::part_of(stage + 1, pp, layers).begin && stage + 1 < pp) ++stage;
  return stage;
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

std::vector<OwnedPiece> owned_pieces(const model::ParameterTable& table, const Mesh& mesh, int rank,
                                     std::span<const std::size_t> kind_bytes) {
  const MeshPlace place = mesh.place_of(rank);
  const std::vector<Piece> parts = parts_of(table, mesh, place);
  std::vector<OwnedPiece> alike;  // all that the rank and its replicas own
  std::vector<SizedPiece> sized;
  for (std::size_t param = 0; param < parts.size(); ++param) {
    for (std::size_t kind = 0; kind < kind_bytes.size(); ++kind) {
      if (parts[param].numel() == 0) continue;
      alike.push_back({static_cast<int>(param), static_cast<int>(kind), parts[param]});
      sized.push_back({parts[param], kind_bytes[kind]});
    }
  }
  std::vector<OwnedPiece> owned;
  for (const PieceShare& share : share_of(sized, mesh.replica_of(place.dp), mesh.num_replicas())) {
    owned.push_back({alike[share.index].param, alike[share.index].kind, share.piece});
  }
  return owned;
}

}  // namespace dt::parallel
