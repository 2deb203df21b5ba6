#pragma once
// Selects a rank's part of a batch whose sequences the ranks divide.

#include "data/read/loader.hpp"
#include "model/layout.hpp"

namespace dt::train {

/// Reduces a batch to the rank's part of each sequence, and sets the tokens' positions. Rows are in
/// the order that micro-batches of `size` samples need (see model::MicroBatch); the last
/// micro-batch may be smaller. The batch's sequence length becomes that of the part. 2·cp divides
/// it.
/// Errors: internal if the batch has positions, because it has been reduced before.
void slice_context_rows(data::Batch& batch, std::int64_t size, const model::Layout& layout,
                        const model::MeshCoordinates& place);

}  // namespace dt::train
