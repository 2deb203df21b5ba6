#pragma once
// What a rank has of a batch whose sequences ranks divide.

#include "data/loader.hpp"
#include "model/layout.hpp"

namespace dt::train {

/// Leaves of a batch the rank's part of each sequence, as micro-batches of `size` samples (the last may be
/// smaller) want their rows (see model::MicroBatch), and says where they stand. Its sequence length becomes
/// that of the part, which 2·cp divide. Errors: internal, where it has been done: the positions are there.
void take_context_share(data::Batch& batch, std::int64_t size, const model::Layout& layout,
                        const model::Place& place);

}  // namespace dt::train
