#pragma once
// How sums over the rows of a matrix are divided: what kernels do, and what memory they take for it.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dt::kernels::cuda {

/// The rows of a matrix in `count` runs of `rows` each, the last with what is left. There are enough to keep
/// a GPU busy, and few enough that their sums are small beside the matrix.
struct Runs {
  std::int64_t rows, count;
};

inline Runs runs_of(std::int64_t R) {
  constexpr std::int64_t fewest_rows = 16, most_runs = 512;
  const std::int64_t rows = std::max(fewest_rows, (R + most_runs - 1) / most_runs);
  return {rows, std::max<std::int64_t>(1, (R + rows - 1) / rows)};
}

/// Of scratch memory, for sums of so many columns in values of so many bytes.
inline std::size_t sums_of_runs_bytes(std::int64_t R, std::int64_t columns, std::size_t value_bytes) {
  return static_cast<std::size_t>(runs_of(R).count * columns) * value_bytes;
}

}  // namespace dt::kernels::cuda
