#pragma once
// Between a model's storage and checkpoints.

#include <vector>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "parallel/model_storage.hpp"
#include "run/writing_group.hpp"

namespace dt::train {

/// What this rank writes into a checkpoint of the weights (the masters) and both moments: what it owns (see
/// parallel::owned_pieces), as views.
std::vector<checkpoint::SourcePiece> share_of_state(const parallel::ModelStorage& storage);
/// What that is on rank `rank` of those that this one trains with.
std::vector<checkpoint::PieceSpec> share_of_rank(const parallel::ModelStorage& storage, int rank);

/// Both, for a Saver; `context`, whose work changes the state, and `storage` must outlive them.
run::StateShares shares_of(const Context& context, const parallel::ModelStorage& storage);

/// Fills weights and moments from a checkpoint. Errors: input (a digest that differs, a tensor that is
/// missing).
void load_state(const Context& context, const checkpoint::Reader& reader, parallel::ModelStorage& storage);

}  // namespace dt::train
