#pragma once
// Chooses how many threads each kernel for GPUs is started with. These are functions of shapes
// alone, so that a kernel's bits do not depend on the GPU, and tests can count how evenly a GPU's
// SMs are used.
// Legend: R rows, C columns, N elements of a vector (vec.cuh).

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/numeric/integer.hpp"

namespace dt::kernels::cuda {

/// The division of sums over the rows of a matrix: `count` runs of `rows` each; the last has the
/// rest.
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

/// The size of a launch.
struct Grid {
  unsigned blocks = 1, blocks_y = 1;
  unsigned threads = 1;          // in a block
  std::size_t shared_bytes = 0;  // in a block
};

inline constexpr int warp_size = 32;
inline constexpr unsigned threads_per_block = 256;
inline constexpr int warps_per_block = threads_per_block / warp_size;

/// Returns the grid of a loop over `count` elements in strides of the whole grid. It has no more
/// blocks than keep a GPU busy, but so many that it hardly matters if some SMs run one more.
inline Grid grid_for(std::int64_t count) {
  constexpr std::int64_t most_blocks = 1 << 14;
  return {.blocks = static_cast<unsigned>(
              std::clamp<std::int64_t>(ceil_div(count, threads_per_block), 1, most_blocks)),
          .threads = threads_per_block};
}

/// Return the grid of a loop over vecs of N: of `count` elements, or of R rows of C each.
inline Grid grid_for_vecs(int N, std::int64_t count) {
  return grid_for(ceil_div(count, N));
}
/// Divides a row's vecs evenly among as few blocks as have threads for them.
inline Grid grid_for_vecs(int N, std::int64_t R, std::int64_t C) {
  constexpr std::int64_t rows_of_thread = 4, most_blocks = 65535;
  const std::int64_t vecs = std::max<std::int64_t>(1, ceil_div(C, N)), blocks = grid_for(vecs).blocks,
                     threads = ceil_div(ceil_div(vecs, blocks), warp_size) * warp_size;
  return {.blocks = static_cast<unsigned>(blocks),
          .blocks_y =
              static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(R, rows_of_thread), 1, most_blocks)),
          .threads = static_cast<unsigned>(std::min<std::int64_t>(threads, threads_per_block))};
}

/// Returns the grid of a kernel with a block for each sum, with the memory that block_sum takes for
/// values of so many bytes.
inline Grid grid_for_sums(std::int64_t sums, std::size_t value_bytes, unsigned threads = threads_per_block) {
  return {.blocks = static_cast<unsigned>(sums),
          .threads = threads,
          .shared_bytes = threads / warp_size * value_bytes};
}

/// Sums of columns, N a lane, over runs of rows. The grid has blocks of columns by runs, with memory
/// for each thread's sums.
inline constexpr unsigned blocks_of_columns_at_once = 5;  // on an SM
inline std::int64_t blocks_of_columns(int N, std::int64_t C) {
  return std::max<std::int64_t>(1, ceil_div(C, warp_size * N));
}
/// Returns the runs of rows. A block's warps take rows in turn, 4 at once.
inline Runs runs_of_columns(int N, std::int64_t R, std::int64_t C) {
  return runs_of(R, std::max<std::int64_t>(1, most_runs / blocks_of_columns(N, C)), 4 * warps_per_block);
}
inline Grid grid_for_columns(int N, std::int64_t C, std::int64_t runs, std::size_t value_bytes) {
  return {.blocks = static_cast<unsigned>(blocks_of_columns(N, C)),
          .blocks_y = static_cast<unsigned>(runs),
          .threads = threads_per_block,
          .shared_bytes = threads_per_block * static_cast<unsigned>(N) * value_bytes};
}
/// Returns the grid of the sums of the runs' sums, of one gradient or two. There are few blocks, so
/// each has many warps.
inline Grid grid_for_run_sums(std::int64_t C, int gradients, std::size_t value_bytes) {
  constexpr unsigned threads = 1024;
  return {.blocks = static_cast<unsigned>(blocks_of_columns(1, C)),
          .blocks_y = static_cast<unsigned>(gradients),
          .threads = threads,
          .shared_bytes = threads * value_bytes};
}

/// Cross-entropy: a block has a row. An SM runs two blocks at a time, which bounds how many rows
/// are in its cache until they become their gradients. There are as many blocks as rows, so that no
/// SM waits for another.
inline constexpr unsigned loss_threads = 768, loss_blocks_at_once = 2;
inline Grid grid_for_loss(std::int64_t R) {
  return grid_for_sums(std::max<std::int64_t>(R, 1), sizeof(double), loss_threads);
}

/// Norms: the threads of a row, which are a warp's lanes or a block's, and the number of vecs of
/// each.
struct NormRow {
  unsigned threads;
  std::int64_t vecs;
};
inline constexpr int max_vecs_per_lane = 8;
inline NormRow norm_row(int N, std::int64_t C) {
  const std::int64_t vecs = ceil_div(C, N);
  const unsigned threads = vecs > max_vecs_per_lane * warp_size ? threads_per_block : warp_size;
  return {threads, ceil_div(vecs, threads)};
}
inline Grid grid_for_norm(int N, std::int64_t R, std::int64_t C, std::size_t value_bytes) {
  return grid_for_sums(ceil_div(R, threads_per_block / norm_row(N, C).threads), value_bytes);
}
/// Norms, backward: a block has a run of rows, `groups` at a time, of `of_row` threads each. A thread
/// has `vecs` vecs of a row, and the sums of their columns, in registers. For longer rows `vecs`
/// is 0, and the block's threads go along the row.
struct NormBackwardRows {
  unsigned of_row, groups, vecs;
  Runs runs;
  std::size_t shared_bytes;
};
inline constexpr unsigned most_threads_of_row = 512;
inline NormBackwardRows norm_backward_rows(int N, std::int64_t R, std::int64_t C, std::size_t value_bytes) {
  const std::int64_t vecs = ceil_div(C, N) > threads_per_block ? 2 : 1;
  const auto threads = static_cast<unsigned>(ceil_div(ceil_div(C, N), vecs * warp_size) * warp_size);
  if (threads > most_threads_of_row)
    return {threads_per_block, 1, 0, runs_of(R, most_runs, 1), warps_per_block * sizeof(double)};
  const unsigned groups = std::max(1U, threads_per_block / threads), of_block = groups * threads,
                 threads_of_processor = vecs == 1 ? 3 * threads_per_block : most_threads_of_row;
  const std::size_t of_sums = std::size_t{2} * 2 * 2 * (of_block / warp_size),
                    of_groups = groups > 1 ? std::size_t{2} * of_block * static_cast<unsigned>(N) : 0;
  return {threads, groups, static_cast<unsigned>(vecs),
          runs_of(R, threads_of_processor / of_block * processors, groups * 2),
          std::max(of_sums, of_groups) * value_bytes};
}
inline Grid grid_for_norm_backward(const NormBackwardRows& rows) {
  return {.blocks = static_cast<unsigned>(rows.runs.count),
          .threads = rows.groups * rows.of_row,
          .shared_bytes = rows.shared_bytes};
}

/// The embedding's gradient: threads go along the columns of a row, blocks take rows in turn.
inline Grid grid_for_table_rows(std::int64_t R, std::int64_t C) {
  constexpr std::int64_t most_rows = 1 << 14, most_blocks_y = 1024;
  const std::int64_t threads =
      std::clamp<std::int64_t>(ceil_div(C, warp_size) * warp_size, warp_size, threads_per_block);
  return {.blocks = static_cast<unsigned>(std::clamp<std::int64_t>(R, 1, most_rows)),
          .blocks_y = static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(C, threads), 1, most_blocks_y)),
          .threads = static_cast<unsigned>(threads)};
}
/// Returns the grid of sorting: each block sorts as many keys as it has threads.
inline Grid grid_for_sorted_keys(std::int64_t R, std::size_t key_bytes) {
  return {.blocks = static_cast<unsigned>(ceil_div(R, threads_per_block)),
          .threads = threads_per_block,
          .shared_bytes = threads_per_block * key_bytes};
}

/// Exact sums: few blocks, as each adds its digits to the same few. Each warp first adds to `digits`
/// of its own.
inline Grid grid_for_exact_sums(std::int64_t count, std::size_t digits_bytes) {
  constexpr unsigned most_blocks = 64;
  Grid grid = grid_for(count);
  grid.blocks = std::min(grid.blocks, most_blocks);
  grid.shared_bytes = warps_per_block * digits_bytes;
  return grid;
}

}  // namespace dt::kernels::cuda
