#include "kernels/factored_moments.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tensor/host_tensor.hpp"

using namespace dt;

namespace {

struct Lines {
  std::vector<double> rows, columns;  // scales
  std::vector<std::int64_t> row_sums, column_sums;
  std::vector<ExactSum> squares;
};

/// A piece of a tensor, and its values.
struct Part {
  Piece piece;
  std::vector<float> values;
};

float value_of(std::int64_t element) {
  const double size = std::exp(20 * std::sin(0.7 * static_cast<double>(element / 50)));
  return static_cast<float>(size * std::sin(1.3 * static_cast<double>(element)));
}

Part part_of(const Piece& piece) {
  Part part{piece, std::vector<float>(static_cast<std::size_t>(piece.numel()))};
  for (const CopyRange& run : intersect(piece, Piece::whole(piece.global))) {
    for (std::int64_t i = 0; i < run.count; ++i)
      part.values[static_cast<std::size_t>(run.source + i)] = value_of(run.target + i);
  }
  return part;
}

/// Sums over the lines of `matrices` matrices. Each of their elements is in one part.
Lines sums_of(std::vector<Part> parts, std::int64_t matrices, int threads) {
  const Context context(threads, Device::host());
  const Shape& shape = parts.front().piece.global;
  const std::int64_t C = shape[shape.rank() - 1], R = shape.numel() / C / matrices;
  Lines lines{std::vector<double>(static_cast<std::size_t>(matrices * R)),
              std::vector<double>(static_cast<std::size_t>(matrices * C)),
              std::vector<std::int64_t>(static_cast<std::size_t>(matrices * R)),
              std::vector<std::int64_t>(static_cast<std::size_t>(matrices * C)),
              std::vector<ExactSum>(static_cast<std::size_t>(matrices))};
  const auto held = [&](Part& part) {
    return kernels::HeldElements{part.piece, matrices, host_tensor(part.values)};
  };
  for (Part& part : parts) kernels::find_line_maxima(context, held(part), lines.rows, lines.columns);
  for (double& row : lines.rows) row = kernels::line_scale(row, C);
  for (double& column : lines.columns) column = kernels::line_scale(column, R);
  for (Part& part : parts) {
    kernels::add_line_squares(context, held(part), lines.rows, lines.columns, lines.row_sums,
                              lines.column_sums);
    kernels::add_direction_squares(context, {.gradient = held(part), .factor = 0.5}, lines.squares);
  }
  CHECK(context.scratch().peak_bytes() == kernels::factored_scratch_bytes(threads, matrices, C));
  return lines;
}

std::vector<double> values_of(const Lines& lines) {
  std::vector<double> values;
  for (std::size_t i = 0; i < lines.rows.size(); ++i)
    values.push_back(static_cast<double>(lines.row_sums[i]) / (lines.rows[i] * lines.rows[i]));
  for (std::size_t i = 0; i < lines.columns.size(); ++i)
    values.push_back(static_cast<double>(lines.column_sums[i]) / (lines.columns[i] * lines.columns[i]));
  for (const ExactSum& sum : lines.squares) values.push_back(4 * sum.value());
  return values;
}

/// Returns a piece: an interval of the elements of a box.
Piece piece_of(const Shape& global, std::vector<std::int64_t> start, const Shape& box, std::int64_t begin,
               std::int64_t end) {
  Piece piece = Piece::whole(global);
  piece.start = std::move(start);
  piece.box = box;
  piece.begin = begin;
  piece.end = end;
  return piece;
}

}  // namespace

TEST_CASE("sums of lines agree with sums in fp64, and do not depend on pieces and threads") {
  const Shape shape{3, 70, 150};
  const std::int64_t R = 70, C = 150;
  const Lines whole = sums_of({part_of(Piece::whole(shape))}, 3, 1);
  const Part all = part_of(Piece::whole(shape));
  std::vector<double> expected(static_cast<std::size_t>(3 * (R + C) + 3));
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const double square = std::pow(double{all.values[static_cast<std::size_t>(i)]}, 2);
    for (const std::int64_t at : {i / C, 3 * R + i / (R * C) * C + i % C, 3 * (R + C) + i / (R * C)})
      expected[static_cast<std::size_t>(at)] += square;
  }
  const std::vector<double> sums = values_of(whole);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(sums[i] == Approx(expected[i]).epsilon(1e-12));
  const std::vector<Part> divided{part_of(piece_of(shape, {0, 0, 0}, {1, 70, 150}, 0, 4000)),
                                  part_of(piece_of(shape, {0, 0, 0}, {1, 70, 150}, 4000, 70 * 150)),
                                  part_of(piece_of(shape, {1, 0, 0}, {2, 70, 41}, 0, 2 * 70 * 41)),
                                  part_of(piece_of(shape, {1, 0, 41}, {2, 70, 109}, 3, 2 * 70 * 109)),
                                  part_of(piece_of(shape, {1, 0, 41}, {2, 70, 109}, 0, 3))};
  CHECK(values_of(sums_of(divided, 3, 1)) == sums);
  CHECK(values_of(sums_of(divided, 3, 3)) == sums);
  CHECK(values_of(sums_of({part_of(Piece::whole(shape))}, 3, 4)) == sums);
}

TEST_CASE("a long line's sum does not overflow, and a line of zeros has none") {
  const std::int64_t C = (1 << 20) + 3;
  Part ones{Piece::whole({1, C}), std::vector<float>(static_cast<std::size_t>(C), 3e19F)};
  CHECK(values_of(sums_of({ones}, 1, 1)).front() == Approx(static_cast<double>(C) * 9e38).epsilon(1e-7));
  CHECK(kernels::line_scale(0, 7) == 0);
  std::fill(ones.values.begin(), ones.values.end(), 0.0F);
  CHECK(sums_of({ones}, 1, 1).row_sums.front() == 0);
  for (const double max : {1e-45, 1.0, 1.999, 3e38})
    CHECK(std::pow(max * kernels::line_scale(max, 4096), 2) < std::pow(2.0, 49) * 2);
}
