#pragma once
// Between a model's storage and checkpoints.

#include <vector>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "parallel/model_storage.hpp"

namespace dt::train {

/// What this rank holds of the weights (the masters) and both moments of every parameter, as views.
std::vector<checkpoint::SourcePiece> pieces_of(const parallel::ModelStorage& storage);

/// Of that, what this rank writes into a checkpoint: ranks that hold the same share it.
std::vector<checkpoint::SourcePiece> share_of_state(const parallel::ModelStorage& storage);
/// What share_of_state() is on rank `rank` of `num_ranks`, of which this rank is one: arithmetic, the
/// owned_pieces() of parallel/mesh.hpp.
std::vector<checkpoint::PieceSpec> share_of_rank(const parallel::ModelStorage& storage, int rank,
                                                 int num_ranks);

/// Fills weights and moments from a checkpoint. Errors: input (a digest that differs, a tensor that is
/// missing).
void load_state(const Context& context, const checkpoint::Reader& reader, parallel::ModelStorage& storage);

}  // namespace dt::train
