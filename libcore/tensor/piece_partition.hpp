#pragma once
// Divides pieces evenly by bytes, as among several writers that hold the same pieces.

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

/// The `index`-th of a list of pieces, with its interval narrowed.
struct IndexedPiece {
  std::size_t index = 0;
  Piece piece;
};

/// Returns the share of `whole` that part `part` of `num_parts` takes. The pieces' S bytes count as
/// laid end to end in the given order. The part takes bytes ⌊part·S/num_parts⌋ to
/// ⌊(part+1)·S/num_parts⌋, with both borders rounded down to whole elements. So each element is in
/// exactly one share, and a share's size differs from S/num_parts by less than an element. At most
/// two pieces of a share are cut; a cut keeps the piece's box and narrows its interval. Shares may
/// be empty; none has empty pieces.
std::vector<IndexedPiece> partition_by_bytes(std::span<const SizedPiece> whole, int part, int num_parts);

}  // namespace dt
