#include "train/start/state_io.hpp"

#include <nlohmann/json.hpp>

#include "plan/precision.hpp"
#include "tensor/host_tensor.hpp"
#include "train/start/conditions.hpp"
#include "train/start/schedule_change.hpp"
#include "train/start/state_change.hpp"
#include "train/step/weight_average.hpp"

namespace dt::train {

namespace {

checkpoint::StoredOptimizer stored_optimizer(const plan::Plan& plan) {
  nlohmann::ordered_json hyper_parameters;
  for (const auto& [name, value] : optim::used_values(plan.optimizer))
    std::visit([&json = hyper_parameters[name]](auto number) { json = number; }, value);
  if (plan.ema > 0) hyper_parameters[ema_parameter] = plan.ema;
  return {std::string(name_of(plan.optimizer.kind)), plan.state_kinds(), hyper_parameters.dump()};
}

}  // namespace

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
  manifest.state.optimizer = stored_optimizer(plan);
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

// Kinds of a storage's state are numbered: 0 are the weights, others the optimizer's.

std::string kind_name(const ModelStorage& storage, const OwnedPiece& own) {
  return own.kind == 0 ? checkpoint::kind_weights
                       : storage.state_kinds()[static_cast<std::size_t>(own.kind) - 1].name;
}

/// Returns the piece of a parameter's state of a kind that a rank holds.
Piece held_piece(const ModelStorage& storage, const LocalTable& local, const LocalParam& param,
                 std::size_t kind) {
  return kind == 0 ? param.owned_piece : parallel::state_piece(local, param, storage.state_kinds()[kind - 1]);
}

/// Returns a parameter's state of a kind: the elements of held_piece().
Tensor kind_of_param(const ModelStorage& storage, std::size_t kind, const LocalParam& param) {
  if (kind > 0) return storage.param_state(param, kind - 1);
  return storage.group_masters(param.group).flat(param.owned_offset, param.owned_piece.numel());
}

/// Returns the type of the elements of a kind.
DType kind_dtype(const ModelStorage& storage, std::size_t kind) {
  return kind == 0 ? storage.precision().master() : storage.state_dtype(kind - 1);
}

std::vector<OwnedPiece> owned_state(const ModelStorage& storage, const LocalTable& local) {
  std::vector<std::size_t> kind_bytes;
  for (std::size_t kind = 0; kind <= storage.state_kinds().size(); ++kind)
    kind_bytes.push_back(dtype_bytes(kind_dtype(storage, kind)));
  return parallel::owned_pieces(local, kind_bytes, [&](const LocalParam& param, std::size_t kind) {
    return held_piece(storage, local, param, kind);
  });
}

}  // namespace

std::vector<checkpoint::SourcePiece> state_pieces(const ModelStorage& storage) {
  const LocalTable& local = storage.local();
  std::vector<checkpoint::SourcePiece> pieces;
  for (const OwnedPiece& own : owned_state(storage, local)) {
    const LocalParam& param = local.param(own.param);
    const auto kind = static_cast<std::size_t>(own.kind);
    const Tensor state = kind_of_param(storage, kind, param);
    const std::int64_t begin = own.piece.begin - held_piece(storage, local, param, kind).begin;
    pieces.push_back(
        {local.spec(param).name, kind_name(storage, own), own.piece, state.flat(begin, own.piece.numel())});
  }
  return pieces;
}

std::vector<checkpoint::PieceSpec> rank_state_pieces(const ModelStorage& storage, int rank) {
  const model::Layout& layout = storage.local().layout();
  const LocalTable local(storage.local().table(), layout, layout.coordinates_of(rank));
  std::vector<checkpoint::PieceSpec> pieces;
  for (const OwnedPiece& own : owned_state(storage, local))
    pieces.push_back({local.name(own.param), kind_name(storage, own), own.piece,
                      kind_dtype(storage, static_cast<std::size_t>(own.kind))});
  return pieces;
}

run::StateShards pieces_of_ranks(const Context& context, const ModelStorage& storage) {
  return {[&storage] { return state_pieces(storage); },
          [&storage](int rank) { return rank_state_pieces(storage, rank); }, context};
}

void load_state(const Context& context, const checkpoint::Reader& reader, ModelStorage& storage) {
  const LocalTable& local = storage.local();
  for (const LocalParam& param : local.params()) {
    const auto read = [&](const std::string& kind) {
      return [&, kind](const Piece& piece, const Tensor& values) {
        reader.read(kind, local.spec(param).name, piece, values);
      };
    };
    storage.set_weights(context, param, read(checkpoint::kind_weights));
    if (!local.group(param.group).has_state) continue;
    for (std::size_t kind = 0; kind < storage.state_kinds().size(); ++kind) {
      const std::string& name = storage.state_kinds()[kind].name;
      const Piece held = held_piece(storage, local, param, 1 + kind);
      if (held.numel() == 0) continue;
      if (name == kernels::average_kind && !reader.has(name, local.spec(param).name)) continue;
      fill_from_host(context, held, storage.param_state(param, kind), read(name));
    }
  }
  const bool has_average = !local.params().empty() && reader.has(kernels::average_kind, local.name(0));
  if (!has_average) start_average(context, storage);
}

}  // namespace dt::train
