#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tensor/piece.hpp"

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

std::int64_t bytes_of(std::span<const IndexedPiece> pieces, std::span<const SizedPiece> whole) {
  std::int64_t total = 0;
  for (const IndexedPiece& piece : pieces)
    total += piece.piece.numel() * static_cast<std::int64_t>(whole[piece.index].element_bytes);
  return total;
}

using Element = std::pair<std::size_t, std::int64_t>;  // a piece, and a place in the piece's box

/// Returns how often each element is in a shard.
std::map<Element, int> counts(std::span<const SizedPiece> whole, int num_shards) {
  std::map<Element, int> result;
  for (int shard = 0; shard < num_shards; ++shard) {
    for (const IndexedPiece& shard_piece : partition_by_bytes(whole, shard, num_shards)) {
      const Piece& source = whole[shard_piece.index].piece;
      CHECK(shard_piece.piece.numel() > 0);
      CHECK(shard_piece.piece.global == source.global);
      CHECK(shard_piece.piece.box == source.box);
      CHECK(shard_piece.piece.start == source.start);
      for (std::int64_t e = shard_piece.piece.begin; e < shard_piece.piece.end; ++e)
        ++result[{shard_piece.index, e}];
    }
  }
  return result;
}

}  // namespace

TEST_CASE("every element is in exactly one share, whatever their number") {
  const int num_shards = GENERATE(1, 2, 3, 5, 7, 11, 40, 41, 42, 100, 4096);
  const std::vector<SizedPiece> pieces = mixed();
  std::map<Element, int> expected;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::int64_t e = pieces[i].piece.begin; e < pieces[i].piece.end; ++e) expected[{i, e}] = 1;
  }
  CHECK(counts(pieces, num_shards) == expected);
}

TEST_CASE("shares are even to within an element") {
  const int num_shards = GENERATE(1, 2, 3, 5, 7, 40, 100);
  const std::vector<SizedPiece> pieces = mixed();
  const double even = static_cast<double>(bytes_of(partition_by_bytes(pieces, 0, 1), pieces)) / num_shards;
  for (int shard = 0; shard < num_shards; ++shard) {
    const auto bytes = static_cast<double>(bytes_of(partition_by_bytes(pieces, shard, num_shards), pieces));
    CHECK(std::abs(bytes - even) < 8);
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
  for (int shard = 0; shard < 10; ++shard) {
    const std::vector<IndexedPiece> own = partition_by_bytes(pieces, shard, 10);
    if (own.empty()) ++empty;
    CHECK(own.size() <= 1);
    CHECK(bytes_of(own, pieces) <= 8);
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
