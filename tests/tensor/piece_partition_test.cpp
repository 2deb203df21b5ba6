#include "tensor/piece_partition.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

using namespace dt;

namespace {

Piece part_of(Piece piece, std::int64_t begin, std::int64_t end) {
  piece.begin = begin;
  piece.end = end;
  return piece;
}

/// Returns whole tensors of two types, a box, a piece without elements, and an interval of a box.
std::vector<SizedPiece> mixed() {
  const Piece box{{6, 5}, {2, 1}, {3, 4}, 0, 12};
  return {{Piece::whole({7, 3}), 4},
          {Piece::whole({1}), 8},
          {box, 8},
          {part_of(Piece::whole({4}), 2, 2), 4},
          {part_of(box, 3, 10), 4}};
}

std::int64_t bytes_of(std::span<const IndexedPiece> share, std::span<const SizedPiece> whole) {
  std::int64_t total = 0;
  for (const IndexedPiece& part : share)
    total += part.piece.numel() * static_cast<std::int64_t>(whole[part.index].element_bytes);
  return total;
}

using Element = std::pair<std::size_t, std::int64_t>;  // a piece, and a place in the piece's box

/// Returns how often each element is in a share.
std::map<Element, int> counts(std::span<const SizedPiece> whole, int num_parts) {
  std::map<Element, int> result;
  for (int part = 0; part < num_parts; ++part) {
    for (const IndexedPiece& share : partition_by_bytes(whole, part, num_parts)) {
      const Piece& source = whole[share.index].piece;
      CHECK(share.piece.numel() > 0);
      CHECK(share.piece.global == source.global);
      CHECK(share.piece.box == source.box);
      CHECK(share.piece.start == source.start);
      for (std::int64_t e = share.piece.begin; e < share.piece.end; ++e) ++result[{share.index, e}];
    }
  }
  return result;
}

}  // namespace

TEST_CASE("every element is in exactly one share, whatever their number") {
  const int num_parts = GENERATE(1, 2, 3, 5, 7, 11, 40, 41, 42, 100, 4096);
  const std::vector<SizedPiece> pieces = mixed();
  std::map<Element, int> expected;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::int64_t e = pieces[i].piece.begin; e < pieces[i].piece.end; ++e) expected[{i, e}] = 1;
  }
  CHECK(counts(pieces, num_parts) == expected);
}

TEST_CASE("shares are even to within an element") {
  const int num_parts = GENERATE(1, 2, 3, 5, 7, 40, 100);
  const std::vector<SizedPiece> pieces = mixed();
  const double even = static_cast<double>(bytes_of(partition_by_bytes(pieces, 0, 1), pieces)) / num_parts;
  for (int part = 0; part < num_parts; ++part) {
    const auto share = static_cast<double>(bytes_of(partition_by_bytes(pieces, part, num_parts), pieces));
    CHECK(std::abs(share - even) < 8);
  }
}

TEST_CASE("what lies inside one share stays whole, and only the ends of a share are cut") {
  const Piece whole = Piece::whole({3, 5});
  const std::vector<SizedPiece> pieces(10, {whole, 4});
  const std::vector<IndexedPiece> third = partition_by_bytes(pieces, 1, 3);
  REQUIRE(third.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(third[i].index == 3 + i);
  CHECK(third[0].piece == part_of(whole, 5, 15));
  CHECK(third[1].piece.is_whole());
  CHECK(third[2].piece.is_whole());
  CHECK(third[3].piece == part_of(whole, 0, 10));
}

TEST_CASE("more shares than elements leave some of them empty") {
  const std::vector<SizedPiece> pieces = {{Piece::whole({3}), 8}};
  int empty = 0;
  for (int part = 0; part < 10; ++part) {
    const std::vector<IndexedPiece> share = partition_by_bytes(pieces, part, 10);
    if (share.empty()) ++empty;
    CHECK(share.size() <= 1);
    CHECK(bytes_of(share, pieces) <= 8);
  }
  CHECK(empty == 7);
  CHECK(partition_by_bytes({}, 0, 3).empty());
  CHECK(partition_by_bytes(mixed(), 0, 1).size() == 4);
}

TEST_CASE("pieces too large for the product of bytes and shares are divided all the same") {
  const std::int64_t numel = std::int64_t{1} << 59;
  const SizedPiece huge{Piece::whole({numel}), 8};
  const std::vector<IndexedPiece> last = partition_by_bytes({&huge, 1}, 4095, 4096);
  REQUIRE(last.size() == 1);
  CHECK(last[0].piece.end == numel);
  CHECK(last[0].piece.begin == numel / 4096 * 4095);
}
