#pragma once
// A run's state in checkpoints: the header of a manifest, and transfers between a model's storage and
// checkpoints.

#include <vector>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/plan.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"
#include "run/save/writing_group.hpp"

namespace dt::train {

/// Returns the header of a checkpoint's manifest: what it says of the run before its files are known.
/// For `gpu_products`, see describe_conditions().
checkpoint::Manifest checkpoint_header(const plan::Plan& plan, const checkpoint::TrainingState& state,
                                       const run::Generation& generation,
                                       const std::vector<std::string>& gpu_products);

/// Returns the views that this rank writes into a checkpoint: its pieces of the weights (the
/// masters) and of each kind of the optimizer's state (see parallel::owned_pieces).
std::vector<checkpoint::SourcePiece> state_pieces(const parallel::ModelStorage& storage);
/// Returns the pieces of rank `rank` among the ranks that train with this one.
std::vector<checkpoint::PieceSpec> rank_state_pieces(const parallel::ModelStorage& storage, int rank);

/// Returns the two functions above for a Saver. `context`, whose work changes the state, and
/// `storage` must outlive them.
run::StateShards pieces_of_ranks(const Context& context, const parallel::ModelStorage& storage);

/// Fills weights and the optimizer's state from a checkpoint. If it has no average, the average begins with
/// the weights.
/// Errors: input for a digest that differs or a missing tensor.
void load_state(const Context& context, const checkpoint::Reader& reader, parallel::ModelStorage& storage);

}  // namespace dt::train
