#include "checkpoint/pieces_by_box.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "checkpoint/sample.hpp"

namespace dt::checkpoint {
namespace {

Piece interval_of(const Piece& box, std::int64_t begin, std::int64_t end) {
  Piece piece = box;
  piece.begin = begin;
  piece.end = end;
  return piece;
}

/// Returns the boxes of a tensor of [6, 8] that is halved along `dim`, with each box divided at random.
std::vector<StoredPiece> cut_along(int dim, std::mt19937& random) {
  std::vector<StoredPiece> stored;
  for (const std::int64_t half : {0, 1}) {
    Piece box = Piece::whole({6, 8});
    box.box = dim == 0 ? Shape{3, 8} : Shape{6, 4};
    box.start[static_cast<std::size_t>(dim)] = half * box.box[dim];
    for (std::int64_t begin = 0; begin < box.box.numel();) {
      const std::int64_t end = std::min<std::int64_t>(box.box.numel(), begin + random() % 9);
      stored.push_back({"w", kind_weights, DType::f32, interval_of(box, begin, end), "f", "", {}, 0});
      begin = end;
    }
  }
  std::shuffle(stored.begin(), stored.end(), random);
  return stored;
}

std::vector<BoxPieces> grouped(const std::vector<StoredPiece>& stored) {
  std::vector<const StoredPiece*> pieces;
  for (const StoredPiece& piece : stored) pieces.push_back(&piece);
  return group_by_box(std::move(pieces));
}

TEST_CASE("the pieces that a read touches are found by their boxes") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<StoredPiece> stored = cut_along(round % 2, random);
    const std::vector<BoxPieces> boxes = grouped(stored);
    REQUIRE(boxes.size() == 2);
    CHECK_FALSE(any_overlap(boxes));
    const std::vector<StoredPiece> others = cut_along(round / 2 % 2, random);
    const Piece& wanted = others.front().piece;
    std::set<const StoredPiece*> found;
    for (const BoxPieces& box : boxes) {
      const auto [first, last] = box.find_intersecting(wanted);
      found.insert(box.pieces.begin() + static_cast<std::ptrdiff_t>(first),
                   box.pieces.begin() + static_cast<std::ptrdiff_t>(last));
    }
    for (const StoredPiece& piece : stored) {
      if (!intersect(piece.piece, wanted).empty()) CHECK(found.contains(&piece));
    }
  }
}

TEST_CASE("pieces that overlap are told, within a box and between boxes") {
  const Piece whole = Piece::whole({4, 4});
  Piece corner = whole;
  corner.start = {3, 1};
  corner.box = {1, 2};
  const auto stored = [](const Piece& piece) {
    return StoredPiece{"w", kind_weights, DType::f32, piece, "f", "", {}, 0};
  };
  CHECK(any_overlap(grouped({stored(interval_of(whole, 0, 9)), stored(interval_of(whole, 8, 16))})));
  CHECK_FALSE(any_overlap(grouped({stored(interval_of(whole, 8, 16)), stored(interval_of(whole, 0, 8))})));
  CHECK(any_overlap(grouped({stored(whole), stored(interval_of(corner, 0, 2))})));
  const std::vector<StoredPiece> many = [&] {
    std::vector<StoredPiece> pieces;
    Piece row = Piece::whole({5000});
    row.box = {1};
    row.end = 1;
    for (row.start = {0}; row.start[0] < 5000; ++row.start[0]) pieces.push_back(stored(row));
    return pieces;
  }();
  CHECK(test::contains(test::error_of(ErrorKind::input, [&] { grouped(many); }), "more than 4096 boxes"));
}

}  // namespace
}  // namespace dt::checkpoint
