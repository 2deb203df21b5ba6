#pragma once
// Divides sums over the rows of a matrix into runs, for kernels and for the memory that they take.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/numeric/integer.hpp"

namespace dt::kernels::cuda {

/// The rows of a matrix in `count` runs of `rows` each; the last has the rest.
struct Runs {
  std::int64_t rows, count;
};

/// The most runs are 4 for each of an H100's SMs. Blocks that have a run each are enough to keep a
/// GPU busy. More would not help, since each run's sums are read again.
inline constexpr std::int64_t processors = 132, most_runs = 4 * processors, fewest_rows = 16;

/// Returns at most `most` runs, of a multiple of `step` rows.
inline Runs runs_of(std::int64_t R, std::int64_t most, std::int64_t step) {
  const std::int64_t rows = round_up(std::max(fewest_rows, ceil_div(R, most)), step);
  return {rows, std::max<std::int64_t>(1, ceil_div(R, rows))};
}

/// Returns the most scratch bytes that sums of so many columns take, in values of so many bytes.
inline std::size_t sums_of_runs_bytes(std::int64_t R, std::int64_t columns, std::size_t value_bytes) {
  return static_cast<std::size_t>(std::min(R / fewest_rows + 1, most_runs) * columns) * value_bytes;
}

}  // namespace dt::kernels::cuda
