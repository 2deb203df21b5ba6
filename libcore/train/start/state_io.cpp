#include "train/start/state_io.hpp"

#include <array>
#include <span>

#include "plan/precision.hpp"
#include "tensor/host_tensor.hpp"
#include "train/start/conditions.hpp"
#include "train/start/schedule_change.hpp"

namespace dt::train {

checkpoint::Manifest checkpoint_header(const plan::Plan& plan, const checkpoint::TrainingState& state,
                                       const run::Generation& generation,
                                       const std::vector<std::string>& gpu_products) {
  checkpoint::Manifest manifest;
  manifest.state = state;
  manifest.state.global_batch = plan.global_batch;
  manifest.state.micro_batch = plan.micro_batch;
  manifest.state.grad_lanes = plan.grad_lanes;
  manifest.state.precision = precision_name(plan.precision.compute);
  if (plan.precision.compute == DType::bf16 && plan.device == Device::host())
    manifest.state.matmul = name_of(plan.arithmetic);
  manifest.state.schedule = describe_schedule(plan.schedule);
  manifest.state.conditions = describe_conditions(plan, gpu_products);
  manifest.model = plan.spec;
  manifest.mesh = plan.layout;
  manifest.generation = generation.number;
  manifest.parent = generation.continues;
  return manifest;
}

namespace {

using parallel::LocalParam;
using parallel::LocalTable;
using parallel::ModelStorage;
using parallel::OwnedPiece;

/// A kind of state, and the method that returns a group's tensor of it.
struct StateKind {
  const char* name;
  Tensor (ModelStorage::*of_group)(int group) const;
};
constexpr std::array kinds = {StateKind{checkpoint::kind_weights, &ModelStorage::group_masters},
                              StateKind{checkpoint::kind_first_moment, &ModelStorage::group_first_moment},
                              StateKind{checkpoint::kind_second_moment, &ModelStorage::group_second_moment}};

constexpr std::span moments = std::span(kinds).subspan<1>();

const StateKind& state_kind(const OwnedPiece& own) {
  return kinds[static_cast<std::size_t>(own.kind)];
}

std::vector<OwnedPiece> owned_state(const LocalTable& local, DType dtype) {
  std::array<std::size_t, kinds.size()> kind_bytes{};
  kind_bytes.fill(dtype_bytes(dtype));
  return parallel::owned_pieces(local, kind_bytes);
}

}  // namespace

std::vector<checkpoint::SourcePiece> state_pieces(const ModelStorage& storage) {
  const LocalTable& local = storage.local();
  std::vector<checkpoint::SourcePiece> pieces;
  for (const OwnedPiece& own : owned_state(local, storage.precision().master())) {
    const LocalParam& param = local.param(own.param);
    const Tensor state = (storage.*state_kind(own).of_group)(param.group);
    const std::int64_t begin = param.owned_offset + own.piece.begin - param.owned_piece.begin;
    pieces.push_back(
        {local.spec(param).name, state_kind(own).name, own.piece, state.flat(begin, own.piece.numel())});
  }
  return pieces;
}

std::vector<checkpoint::PieceSpec> rank_state_pieces(const ModelStorage& storage, int rank) {
  const model::Layout& layout = storage.local().layout();
  const LocalTable local(storage.local().table(), layout, layout.coordinates_of(rank));
  const DType dtype = storage.precision().master();
  std::vector<checkpoint::PieceSpec> pieces;
  for (const OwnedPiece& own : owned_state(local, dtype))
    pieces.push_back({local.name(own.param), state_kind(own).name, own.piece, dtype});
  return pieces;
}

run::StateShards pieces_of_ranks(const Context& context, const ModelStorage& storage) {
  return {[&storage] { return state_pieces(storage); },
          [&storage](int rank) { return rank_state_pieces(storage, rank); }, context};
}

void load_state(const Context& context, const checkpoint::Reader& reader, ModelStorage& storage) {
  const LocalTable& local = storage.local();
  for (const LocalParam& param : local.params()) {
    const auto read = [&](const char* kind) {
      return [&, kind](const Piece& piece, const Tensor& values) {
        reader.read(kind, local.spec(param).name, piece, values);
      };
    };
    storage.set_weights(context, param, read(checkpoint::kind_weights));
    if (param.owned_piece.numel() == 0 || !local.group(param.group).has_state) continue;
    for (const StateKind& kind : moments)
      fill_from_host(context, param.owned_piece, param.view_in_shard((storage.*kind.of_group)(param.group)),
                     read(kind.name));
  }
}

}  // namespace dt::train
