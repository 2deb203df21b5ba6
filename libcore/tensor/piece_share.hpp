#pragma once
// Pieces divided by bytes among equals, as by several writers of what all of them hold.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/piece.hpp"

namespace dt {

struct SizedPiece {
  Piece piece;
  std::size_t element_bytes = 0;
};

/// The `index`-th of a list of pieces, its interval narrowed.
struct PieceShare {
  std::size_t index = 0;
  Piece piece;
};

/// What part `part` of `num_parts` takes of `whole`: of the pieces' bytes, laid end to end in the given
/// order, those from ⌊part·S/num_parts⌋ to ⌊(part+1)·S/num_parts⌋, S being their sum and both borders moved
/// down to that of an element. So each element is in exactly one share, a share's size differs from
/// S/num_parts by less than an element, and at most two pieces of a share are cut; a cut keeps the piece's
/// box and narrows its interval. Shares may be empty; none has empty pieces.
std::vector<PieceShare> share_of(std::span<const SizedPiece> whole, int part, int num_parts);

}  // namespace dt
