#include "comm/device_collectives/levels.hpp"

namespace dt::comm {

std::vector<Range> ReduceStretch::runs(const Levels& levels, int l) const {
  std::vector<Range> runs;
  for (int h = 0; h < (is_whole ? 1 : levels.num_nodes); ++h) {
    const Range range = parts(levels.rank_of(h, l));
    if (range.count == 0) continue;
    if (!runs.empty() && runs.back().begin + runs.back().count == range.begin) {
      runs.back().count += range.count;
    } else {
      runs.push_back(range);
    }
  }
  return runs;
}

std::int64_t ReduceStretch::begin_in_runs(const Levels& levels, int h) const {
  std::int64_t begin = 0;
  for (int before = 0; before < h && !is_whole; ++before) begin += count(levels, before, levels.local);
  return begin;
}

StagedBytes staged_bytes(const Levels& levels, DType dtype, std::int64_t count) {
  const auto neighbours = static_cast<std::size_t>(levels.per_node - 1),
             nodes = static_cast<std::size_t>(levels.num_nodes);
  const std::size_t arriving = neighbours * nodes * bytes_of_lines(dtype, count);
  if (!levels.has_nodes()) return {.of_neighbours = arriving};
  const std::size_t sum = bytes_of_lines(accumulator_dtype(dtype), count);
  return {arriving, nodes * sum, (nodes - 1) * sum};
}

}  // namespace dt::comm
