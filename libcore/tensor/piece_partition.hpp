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

/// Returns shard `shard` of the `num_shards` shards of `whole`. The pieces' S bytes count as
/// laid end to end in the given order. The shard takes bytes ⌊shard·S/num_shards⌋ to
/// ⌊(shard+1)·S/num_shards⌋, with both borders rounded down to whole elements. So each element is in
/// exactly one shard, and a shard's size differs from S/num_shards by less than an element. At most
/// two pieces of a shard are cut; a cut keeps the piece's box and narrows its interval. Shards may
/// be empty; none has empty pieces.
std::vector<IndexedPiece> partition_by_bytes(std::span<const SizedPiece> whole, int shard, int num_shards);

}  // namespace dt
