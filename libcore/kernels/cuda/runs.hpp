#pragma once
// How sums over the rows of a matrix are divided: what kernels do, and what memory they take for it.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dt::kernels::cuda {

/// The rows of a matrix in `count` runs of `rows` each, the last with what is left.
struct Runs {
  std::int64_t rows, count;
};

/// 4 for each of an H100's processors; blocks that have a run each are enough to keep a GPU busy, and no
/// more, since each run's sums are read again.
inline constexpr std::int64_t processors = 132, most_runs = 4 * processors, fewest_rows = 16;

/// At most so many runs, of a multiple of `step` rows.
inline Runs runs_of(std::int64_t R, std::int64_t most, std::int64_t step) {
  const std::int64_t rows = (std::max(fewest_rows, (R + most - 1) / most) + step - 1) / step * step;
  return {rows, std::max<std::int64_t>(1, (R + rows - 1) / rows)};
}

/// Of scratch memory at most, for sums of so many columns in values of so many bytes.
inline std::size_t sums_of_runs_bytes(std::int64_t R, std::int64_t columns, std::size_t value_bytes) {
  return static_cast<std::size_t>(std::min(R / fewest_rows + 1, most_runs) * columns) * value_bytes;
}

}  // namespace dt::kernels::cuda
