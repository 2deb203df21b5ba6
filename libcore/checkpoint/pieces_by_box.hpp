#pragma once
// The stored pieces of one tensor, arranged so that those that a read touches are found without looking at
// all.

#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// Pieces that are intervals of one box, ordered by where they begin.
struct BoxPieces {
  std::vector<const StoredPiece*> pieces;
  bool are_disjoint = true;

  /// The box as a piece.
  Piece box() const;
  /// Positions [first, second) of the pieces that may hold elements of `wanted`; all where pieces are not
  /// disjoint.
  std::pair<std::size_t, std::size_t> touched_by(const Piece& wanted) const;
};

/// Errors: input, where the pieces lie in more boxes than tensor parallelism cuts a tensor into.
std::vector<BoxPieces> by_box(std::vector<const StoredPiece*> pieces);

/// Returns whether two pieces of a tensor hold an element both, or their boxes overlap without being equal.
bool overlap(const std::vector<BoxPieces>& boxes);

}  // namespace dt::checkpoint
