#include "checkpoint/compare.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/numeric/digest.hpp"
#include "checkpoint/sample.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::checkpoint {
namespace {

using Outcome = TensorComparison::Outcome;
using test::TempFolder;

fs::path write_values(const fs::path& folder, std::int64_t step, std::vector<float> values,
                      const Shape& shape) {
  SourcePiece piece{"w", kind_weights, Piece::whole(shape), host_tensor(values).reshaped(shape)};
  return test::write_checkpoint(folder, test::sample_manifest(step), {&piece, 1});
}

std::vector<TensorComparison> compared(const fs::path& a, const fs::path& b) {
  std::vector<TensorComparison> results;
  std::uint64_t done = 0;
  const Reader x(a);
  const Reader y(b);
  compare(
      x, y, [&](const TensorComparison& c) { results.push_back(c); },
      [&](std::uint64_t bytes) { done += bytes; });
  CHECK(done == stored_bytes(x.pieces()) + stored_bytes(y.pieces()));
  return results;
}

TEST_CASE("differences have the size that hand calculation gives them") {
  const TempFolder folder;
  const fs::path a = write_values(folder.path(), 1, {3, 0, 4, 0}, {4});
  const fs::path b = write_values(folder.path(), 2, {3, 0, 4.5, 1.2f}, {4});
  const TensorComparison c = compared(a, b).at(0);
  CHECK(c.outcome == Outcome::differs);
  CHECK(c.max_abs == static_cast<double>(1.2f));
  CHECK(c.relative_norm == Approx(1.3 / 5));
  CHECK(compared(a, a).at(0).outcome == Outcome::equal);
  CHECK(compared(a, a).at(0).relative_norm == 0);
}

TEST_CASE("equal means equal bits; NaN and infinity are not lost") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const TempFolder folder;
  const fs::path zero = write_values(folder.path(), 1, {0, 0}, {2});
  const fs::path minus = write_values(folder.path(), 2, {0, -0.0f}, {2});
  const fs::path poisoned = write_values(folder.path(), 3, {nan, 7}, {2});
  const fs::path huge = write_values(folder.path(), 4, {infinity, 7}, {2});
  CHECK(compared(zero, minus).at(0).outcome == Outcome::differs);
  CHECK(compared(zero, minus).at(0).max_abs == 0);
  CHECK(compared(poisoned, poisoned).at(0).outcome == Outcome::equal);
  CHECK(std::isnan(compared(zero, poisoned).at(0).max_abs));
  CHECK(std::isnan(compared(poisoned, huge).at(0).relative_norm));
  CHECK(compared(huge, huge).at(0).outcome == Outcome::equal);
  CHECK(std::isinf(compared(zero, huge).at(0).max_abs));
  CHECK(std::isinf(compared(zero, write_values(folder.path(), 5, {1, 1}, {2})).at(0).relative_norm));
}

TEST_CASE("a tensor of several blocks is compared in all of them") {
  const TempFolder folder;
  const std::size_t count = 2 * digest_block_bytes / 8 + 5;
  std::vector<float> values(count, 1);
  const Shape shape{static_cast<std::int64_t>(count)};
  const fs::path a = write_values(folder.path(), 1, values, shape);
  values.back() = 3;
  values.front() = 2;
  const TensorComparison c = compared(a, write_values(folder.path(), 2, values, shape)).at(0);
  CHECK(c.max_abs == 2);
  CHECK(c.relative_norm == Approx(std::sqrt(5.0 / static_cast<double>(count))));
}

TEST_CASE("missing tensors, other shapes and other types are told apart, and layouts do not matter") {
  const TempFolder folder;
  test::Pieces whole;
  whole.add(kind_weights, "same", Piece::whole({4, 3}), DType::f32, 0);
  whole.add(kind_weights, "shape", Piece::whole({4, 3}), DType::f32, 0);
  whole.add(kind_weights, "type", Piece::whole({4, 3}), DType::f32, 0);
  whole.add(kind_weights, "a", Piece::whole({2}), DType::f32, 0);
  test::Pieces cut;
  for (std::int64_t half : {0, 1}) {
    Piece piece = Piece::whole({4, 3});
    piece.begin = half * 5;
    piece.end = half == 0 ? 5 : 12;
    cut.add(kind_weights, "same", piece, DType::f32, 0);
  }
  cut.add(kind_weights, "shape", Piece::whole({3, 4}), DType::f32, 0);
  cut.add(kind_weights, "type", Piece::whole({4, 3}), DType::f64, 0);
  cut.add(kind_first_moment, "a", Piece::whole({2}), DType::f32, 0);
  const auto results = compared(test::write_checkpoint(folder.path(), test::sample_manifest(1), whole.list),
                                test::write_checkpoint(folder.path(), test::sample_manifest(2), cut.list));
  REQUIRE(results.size() == 5);
  CHECK(results[0].outcome == Outcome::equal);
  CHECK(results[1].outcome == Outcome::other_shape);
  CHECK(results[2].outcome == Outcome::other_dtype);
  CHECK(results[2].max_abs == 0);
  CHECK(results[3].outcome == Outcome::only_in_a);
  CHECK(results[4].outcome == Outcome::only_in_b);
  CHECK(results[4].kind == kind_first_moment);
}

}  // namespace
}  // namespace dt::checkpoint
