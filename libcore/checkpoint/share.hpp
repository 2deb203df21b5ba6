#pragma once
// State divided among the writers of a checkpoint.

#include <span>
#include <vector>

#include "checkpoint/writer.hpp"

namespace dt::checkpoint {

/// What writer `writer` of `num_writers` writes of `whole`: of the pieces' bytes, laid end to end in the
/// given order, those from ⌊writer·S/num_writers⌋ to ⌊(writer+1)·S/num_writers⌋, S being their sum and both
/// borders moved down to that of an element. So each element is in exactly one share, a share's size differs
/// from S/num_writers by less than an element, and at most two pieces of a share are cut; a cut keeps the
/// piece's box and narrows its interval. Pieces that are parts of tensors already are divided likewise.
/// Shares may be empty; none has empty pieces. The results are views of the same memory, on any device. All
/// writers must pass lists of equal tensors, types and pieces in equal order.
std::vector<SourcePiece> share_of(std::span<const SourcePiece> whole, int writer, int num_writers);

}  // namespace dt::checkpoint
