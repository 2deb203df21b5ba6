#pragma once
// The stored pieces of one tensor, arranged so that a read finds the pieces it touches without
// examining all.

#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// Pieces that are intervals of one box, ordered by their beginnings.
struct BoxPieces {
  std::vector<const StoredPiece*> pieces;
  bool are_disjoint = true;

  /// Returns the whole box as a piece.
  Piece box() const;
  /// Returns positions [first, second) of the pieces that may hold elements of `wanted`. Returns
  /// all positions if the pieces are not disjoint.
  std::pair<std::size_t, std::size_t> find_intersecting(const Piece& wanted) const;
};

/// Groups the pieces by box.
/// Errors: input if they lie in more boxes than tensor parallelism can divide a tensor into.
std::vector<BoxPieces> group_by_box(std::vector<const StoredPiece*> pieces);

/// Returns whether two pieces share an element, or the boxes of two pieces overlap without being
/// equal.
bool any_overlap(const std::vector<BoxPieces>& boxes);

}  // namespace dt::checkpoint
