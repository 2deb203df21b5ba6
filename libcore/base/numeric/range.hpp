#pragma once
// Divides consecutive elements evenly, as among the ranks of a group.

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
Range even_range(int rank, int size, std::int64_t numel, std::int64_t granule = 1);

}  // namespace dt
