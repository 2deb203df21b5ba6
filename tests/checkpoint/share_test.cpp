#include "checkpoint/share.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "checkpoint/sample.hpp"

namespace dt::checkpoint {
namespace {

using test::Pieces;

Piece part_of(Piece piece, std::int64_t begin, std::int64_t end) {
  piece.begin = begin;
  piece.end = end;
  return piece;
}

/// Whole tensors of two types, a box, an interval of a box, and a piece without elements.
Pieces mixed() {
  Pieces pieces;
  pieces.add(kind_weights, "whole", Piece::whole({7, 3}), DType::f32, 0);
  pieces.add(kind_weights, "scalar", Piece::whole({1}), DType::f64, 50);
  const Piece box{{6, 5}, {2, 1}, {3, 4}, 0, 12};
  pieces.add(kind_weights, "box", box, DType::f64, 100);
  pieces.add(kind_weights, "none", part_of(Piece::whole({4}), 2, 2), DType::f32, 0);
  pieces.add(kind_first_moment, "interval", part_of(box, 3, 10), DType::f32, 200);
  return pieces;
}

std::uint64_t bytes_of(std::span<const SourcePiece> pieces) {
  std::uint64_t total = 0;
  for (const SourcePiece& p : pieces) total += p.data.bytes();
  return total;
}

/// How often each element of a piece in `whole` is in a share, by "tensor" and place in the box; the memory
/// must be the one that the whole has for it.
std::map<std::pair<std::string, std::int64_t>, int> counts(std::span<const SourcePiece> whole,
                                                           int num_writers) {
  std::map<std::pair<std::string, std::int64_t>, int> result;
  std::map<std::string, const SourcePiece*> by_name;
  for (const SourcePiece& p : whole) by_name[p.tensor] = &p;
  for (int writer = 0; writer < num_writers; ++writer) {
    for (const SourcePiece& p : share_of(whole, writer, num_writers)) {
      const SourcePiece& source = *by_name.at(p.tensor);
      const std::size_t element = dtype_bytes(p.data.dtype());
      CHECK(p.kind == source.kind);
      CHECK(p.piece.numel() > 0);
      CHECK(p.data.numel() == p.piece.numel());
      CHECK(p.data.dtype() == source.data.dtype());
      CHECK(p.data.raw() ==
            source.data.raw() + static_cast<std::size_t>(p.piece.begin - source.piece.begin) * element);
      CHECK(p.piece.box == source.piece.box);
      CHECK(p.piece.start == source.piece.start);
      for (std::int64_t e = p.piece.begin; e < p.piece.end; ++e) ++result[{p.tensor, e}];
    }
  }
  return result;
}

TEST_CASE("every element is in exactly one share, whatever the number of writers") {
  const int num_writers = GENERATE(1, 2, 3, 5, 7, 11, 40, 41, 42, 100, 4096);
  const Pieces pieces = mixed();
  std::map<std::pair<std::string, std::int64_t>, int> expected;
  for (const SourcePiece& p : pieces.list) {
    for (std::int64_t e = p.piece.begin; e < p.piece.end; ++e) expected[{p.tensor, e}] = 1;
  }
  CHECK(counts(pieces.list, num_writers) == expected);
}

TEST_CASE("shares are even to within an element") {
  const int num_writers = GENERATE(1, 2, 3, 5, 7, 40, 100);
  const Pieces pieces = mixed();
  const double even = static_cast<double>(bytes_of(pieces.list)) / num_writers;
  for (int writer = 0; writer < num_writers; ++writer) {
    const auto share = static_cast<double>(bytes_of(share_of(pieces.list, writer, num_writers)));
    CHECK(std::abs(share - even) < 8);
  }
}

TEST_CASE("what lies inside one share stays whole, and only the ends of a share are cut") {
  Pieces pieces;
  for (int i = 0; i < 10; ++i)
    pieces.add(kind_weights, fmt::format("t{}", i), Piece::whole({3, 5}), DType::f32, 0);
  for (SourcePiece& p : pieces.list) p.data = p.data.reshaped({3, 5});
  const auto third = share_of(pieces.list, 1, 3);
  REQUIRE(third.size() == 4);
  CHECK(third[0].tensor == "t3");
  CHECK(third[0].piece == part_of(Piece::whole({3, 5}), 5, 15));
  for (const std::size_t i : {1, 2}) {
    CHECK(third[i].piece.is_whole());
    CHECK(third[i].data.shape() == Shape{3, 5});
  }
  CHECK(third[3].piece == part_of(Piece::whole({3, 5}), 0, 10));
}

TEST_CASE("more writers than elements leave some of them nothing") {
  Pieces pieces;
  pieces.add(kind_weights, "w", Piece::whole({3}), DType::f64, 0);
  int empty = 0;
  for (int writer = 0; writer < 10; ++writer) {
    const auto share = share_of(pieces.list, writer, 10);
    if (share.empty()) ++empty;
    CHECK(share.size() <= 1);
    CHECK(bytes_of(share) <= 8);
  }
  CHECK(empty == 7);
  CHECK(share_of({}, 0, 3).empty());
  CHECK(share_of(mixed().list, 0, 1).size() == 4);
}

TEST_CASE("states too large for the product of bytes and writers are divided all the same") {
  // No memory behind it: shares are views.
  const std::int64_t numel = std::int64_t{1} << 59;
  const Tensor data(nullptr, DType::f64, Shape{numel});
  const SourcePiece huge{"w", kind_weights, Piece::whole({numel}), data};
  const auto last = share_of({&huge, 1}, 4095, 4096);
  REQUIRE(last.size() == 1);
  CHECK(last[0].piece.end == numel);
  CHECK(last[0].piece.begin == numel / 4096 * 4095);
}

}  // namespace
}  // namespace dt::checkpoint
