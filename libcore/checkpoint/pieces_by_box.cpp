#include "checkpoint/pieces_by_box.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::checkpoint {

namespace {

bool are_in_one_box(const Piece& a, const Piece& b) {
  return a.start == b.start && a.box == b.box && a.global == b.global;
}

bool boxes_overlap(const Piece& a, const Piece& b) {
  for (int dim = 0; dim < std::min(a.box.rank(), b.box.rank()); ++dim) {
    const auto d = static_cast<std::size_t>(dim);
    if (a.start[d] + a.box[dim] <= b.start[d] || b.start[d] + b.box[dim] <= a.start[d]) return false;
  }
  return true;
}

}  // namespace

Piece BoxPieces::box() const {
  Piece whole = pieces.front()->piece;
  whole.begin = 0;
  whole.end = whole.box.numel();
  return whole;
}

std::pair<std::size_t, std::size_t> BoxPieces::find_intersecting(const Piece& wanted) const {
  if (pieces.size() == 1 || !are_disjoint) return {0, pieces.size()};
  const auto [begin, end] = intersection_bounds(box(), wanted);
  const auto first = std::ranges::upper_bound(pieces, begin, {}, [](const auto* p) { return p->piece.end; });
  const auto last =
      std::ranges::lower_bound(first, pieces.end(), end, {}, [](const auto* p) { return p->piece.begin; });
  return {static_cast<std::size_t>(first - pieces.begin()), static_cast<std::size_t>(last - pieces.begin())};
}

std::vector<BoxPieces> group_by_box(std::vector<const StoredPiece*> pieces) {
  constexpr std::size_t most_boxes = 4096;
  std::sort(pieces.begin(), pieces.end(), [](const StoredPiece* a, const StoredPiece* b) {
    const Piece &x = a->piece, &y = b->piece;
    if (x.global != y.global) return x.global.dims() < y.global.dims();
    if (x.start != y.start) return x.start < y.start;
    if (x.box != y.box) return x.box.dims() < y.box.dims();
    return x.begin != y.begin ? x.begin < y.begin : x.end < y.end;
  });
  std::vector<BoxPieces> boxes;
  for (const StoredPiece* piece : pieces) {
    if (boxes.empty() || !are_in_one_box(boxes.back().pieces.back()->piece, piece->piece)) {
      if (boxes.size() == most_boxes)
        throw input_error("{} of {}: its stored pieces lie in more than {} boxes", piece->kind, piece->tensor,
                          most_boxes);
      boxes.emplace_back();
    } else if (boxes.back().pieces.back()->piece.end > piece->piece.begin) {
      boxes.back().are_disjoint = false;
    }
    boxes.back().pieces.push_back(piece);
  }
  return boxes;
}

bool any_overlap(const std::vector<BoxPieces>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!boxes[i].are_disjoint) return true;
    for (std::size_t j = 0; j < i; ++j) {
      if (boxes_overlap(boxes[i].pieces.front()->piece, boxes[j].pieces.front()->piece)) return true;
    }
  }
  return false;
}

}  // namespace dt::checkpoint
