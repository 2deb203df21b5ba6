#pragma once
// Describes which elements of which global tensor a buffer holds: a hyperrectangle (a
// tensor-parallel shard) and an interval of its row-major order (a ZeRO shard). Files hold pieces;
// a reader in another layout copies intersections. Several writers of the same pieces divide them evenly
// by bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace dt {

struct Piece {
  Shape global;                     // shape of the whole tensor
  std::vector<std::int64_t> start;  // the box's beginning, per dim
  Shape box;                        // the box's extents
  std::int64_t begin = 0;           // interval [begin, end) in the box's row-major order
  std::int64_t end = 0;

  static Piece whole(const Shape& global);
  std::int64_t numel() const { return end - begin; }
  bool is_whole() const;
  bool operator==(const Piece&) const = default;
  /// Checks the box and the interval.
  /// Errors: input, naming what is out of range: a box outside the global shape, an interval outside
  /// the box.
  void validate() const;
};

/// `count` consecutive elements that lie at `source` in one piece's buffer and at `target` in another's.
struct CopyRange {
  std::int64_t source;
  std::int64_t target;
  std::int64_t count;
  bool operator==(const CopyRange&) const = default;
};

/// Returns the elements that both pieces hold, as maximal runs in the target's order.
/// Shapes: both are pieces of one global shape.
std::vector<CopyRange> intersect(const Piece& source, const Piece& target);
/// Returns an interval of the source's box that contains all elements common to both pieces. It is
/// in whole rows, within the source's interval. Returns {0, 0} if it is plain that the pieces have
/// no common elements. The time is logarithmic in the number of rows.
std::pair<std::int64_t, std::int64_t> intersection_bounds(const Piece& source, const Piece& target);

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
