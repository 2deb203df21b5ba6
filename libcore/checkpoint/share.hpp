#pragma once
// State divided among the writers of a checkpoint.

#include <span>
#include <vector>

#include "checkpoint/writer.hpp"

namespace dt::checkpoint {

/// What writer `writer` of `num_writers` writes of `whole`: its share as tensor/piece_share.hpp divides.
/// Pieces that are parts of tensors already are divided likewise. The results are views of the same memory,
/// on any device. All writers must pass lists of equal tensors, types and pieces in equal order.
std::vector<SourcePiece> share_of(std::span<const SourcePiece> whole, int writer, int num_writers);

}  // namespace dt::checkpoint
