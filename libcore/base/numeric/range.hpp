#pragma once
// Ranges of elements and intervals of time.

#include <algorithm>
#include <cstdint>

namespace dt {

/// Elements [begin, begin + count) of N, which belong to rank r of n. The N elements are
/// B = ⌈N/granule⌉ granules, of which the last may be shorter. Rank r has granules
/// ⌊rB/n⌋ … ⌊(r+1)B/n⌋−1.
struct Range {
  std::int64_t begin;
  std::int64_t count;
  bool operator==(const Range&) const = default;
};
/// Divides consecutive elements evenly, as among the ranks of a group.
inline Range even_range(int rank, int size, std::int64_t numel, std::int64_t granule = 1) {
  const std::int64_t granules = numel / granule + (numel % granule != 0 ? 1 : 0);
  // ⌊rB/n⌋ without a product that could overflow: B = qn + s gives rq + ⌊rs/n⌋.
  const auto bound = [&](std::int64_t r) {
    return std::min(numel, (r * (granules / size) + r * (granules % size) / size) * granule);
  };
  return {bound(rank), bound(rank + 1) - bound(rank)};
}

/// An interval in seconds. Its user says on which clock.
struct Interval {
  double start_s = 0;
  double end_s = 0;

  double duration_s() const { return end_s - start_s; }
};

}  // namespace dt
