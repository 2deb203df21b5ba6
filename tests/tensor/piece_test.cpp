#include "tensor/piece.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <map>
#include <random>

#include "base/error.hpp"

using namespace dt;

namespace {

/// Returns the global row-major index of each element of a piece, in the order of the piece's
/// buffer.
std::vector<std::int64_t> elements(const Piece& piece) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = piece.begin; i < piece.end; ++i) {
    std::int64_t rest = i;
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (int d = piece.global.rank() - 1; d >= 0; --d) {
      index += (piece.start[static_cast<std::size_t>(d)] + rest % piece.box[d]) * stride;
      rest /= piece.box[d];
      stride *= piece.global[d];
    }
    result.push_back(index);
  }
  return result;
}

/// Returns what intersect() promises, computed element by element.
std::vector<CopyRange> expected_runs(const Piece& source, const Piece& target) {
  std::map<std::int64_t, std::int64_t> place;
  const auto from = elements(source);
  for (std::size_t i = 0; i < from.size(); ++i) place[from[i]] = static_cast<std::int64_t>(i);
  std::vector<CopyRange> runs;
  const auto to = elements(target);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto found = place.find(to[i]);
    if (found == place.end()) continue;
    const auto at = static_cast<std::int64_t>(i);
    if (!runs.empty() && runs.back().source + runs.back().count == found->second &&
        runs.back().target + runs.back().count == at) {
      ++runs.back().count;
    } else {
      runs.push_back({found->second, at, 1});
    }
  }
  return runs;
}

Piece random_piece(const Shape& global, std::mt19937& engine) {
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(engine() % static_cast<std::uint32_t>(bound));
  };
  Piece piece{global, {}, {}, 0, 0};
  std::vector<std::int64_t> box;
  for (const std::int64_t extent : global.dims()) {
    const bool whole = below(3) == 0;
    piece.start.push_back(whole ? 0 : below(extent));
    box.push_back(whole ? extent : (below(20) > 0) + below(extent - piece.start.back()));
  }
  piece.box = Shape(box);
  const std::int64_t numel = piece.box.numel();
  piece.end = below(2) == 0 ? numel : below(numel + 1);
  piece.begin = below(2) == 0 ? 0 : below(piece.end + 1);
  return piece;
}

/// Returns the processor time of an action, which a busy machine does not change.
double seconds_of(const auto& action) {
  const std::clock_t start = std::clock();
  action();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("a whole piece holds everything") {
  const Piece whole = Piece::whole({4, 5});
  CHECK(whole.is_whole());
  CHECK(whole.numel() == 20);
  whole.validate();
  Piece part = whole;
  part.end = 19;
  CHECK_FALSE(part.is_whole());
  CHECK(Piece::whole({}).numel() == 1);
}

TEST_CASE("a piece outside its tensor is bad input that names the dim") {
  const Piece good{{4, 5}, {1, 0}, {3, 5}, 2, 15};
  good.validate();
  const auto message = [](Piece piece) -> std::string {
    try {
      piece.validate();
    } catch (const Error& error) {
      return error.kind() == ErrorKind::input ? error.message() : "";
    }
    return "valid";
  };
  Piece piece = good;
  piece.start[0] = 2;
  CHECK(message(piece).find("dim 0 has 3 elements from 2: outside the tensor's shape [4, 5]") !=
        std::string::npos);
  piece = good;
  piece.end = 16;
  CHECK(message(piece).find("interval 2 to 16") != std::string::npos);
  piece = good;
  piece.begin = -1;
  CHECK(message(piece).find("interval") != std::string::npos);
  piece = good;
  piece.start.pop_back();
  CHECK(message(piece).find("1 starts and 2 extents") != std::string::npos);
  piece = good;
  piece.start[1] = INT64_MAX;
  CHECK(message(piece).find("dim 1") != std::string::npos);
}

TEST_CASE("a whole tensor is one run") {
  const Piece whole = Piece::whole({50257, 1, 768});
  CHECK(intersect(whole, whole) == std::vector<CopyRange>{{0, 0, 50257 * 768}});
  CHECK(intersect(Piece::whole({}), Piece::whole({})) == std::vector<CopyRange>{{0, 0, 1}});
}

TEST_CASE("row slices are one run and column slices one a row") {
  const Piece whole = Piece::whole({6, 4});
  const Piece rows{{6, 4}, {2, 0}, {3, 4}, 0, 12};
  CHECK(intersect(whole, rows) == std::vector<CopyRange>{{8, 0, 12}});
  const Piece columns{{6, 4}, {0, 1}, {6, 2}, 0, 12};
  const auto runs = intersect(whole, columns);
  REQUIRE(runs.size() == 6);
  CHECK(runs[2] == CopyRange{9, 4, 2});
}

TEST_CASE("an interval cuts runs on both sides") {
  const Piece source{{6, 4}, {0, 0}, {6, 4}, 5, 20};
  const Piece target{{6, 4}, {0, 0}, {6, 4}, 10, 24};
  CHECK(intersect(source, target) == std::vector<CopyRange>{{5, 0, 10}});
  const Piece apart{{6, 4}, {0, 0}, {6, 4}, 20, 24};
  CHECK(intersect(source, apart).empty());
}

TEST_CASE("pieces of different tensors are not intersected") {
  CHECK_THROWS_AS(intersect(Piece::whole({2, 3}), Piece::whole({3, 2})), Error);
}

TEST_CASE("intersections of random pieces are what element by element comparison gives") {
  std::mt19937 engine(17);
  int num_runs = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::int64_t> dims(engine() % 5);
    for (std::int64_t& extent : dims) extent = 1 + static_cast<std::int64_t>(engine() % 4);
    const Shape global(dims);
    const Piece source = random_piece(global, engine);
    const Piece target = random_piece(global, engine);
    source.validate();
    target.validate();
    const auto runs = intersect(source, target);
    num_runs += static_cast<int>(runs.size());
    REQUIRE(runs == expected_runs(source, target));
  }
  CHECK(num_runs > 5'000);
}

TEST_CASE("a small interval of a large sliced tensor is found without walking its rows") {
  const Shape global{100'000'000, 64};
  const Piece whole = Piece::whole(global);
  Piece slice{global, {0, 32}, {100'000'000, 32}, 3'000'000'000, 3'000'000'040};
  std::vector<CopyRange> runs;
  CHECK(seconds_of([&] { runs = intersect(whole, slice); }) < 0.1);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0] == CopyRange{93'750'000LL * 64 + 32, 0, 32});
  CHECK(runs[1] == CopyRange{93'750'001LL * 64 + 32, 32, 8});
}
