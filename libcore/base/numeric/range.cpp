#include "base/numeric/range.hpp"

#include <algorithm>

namespace dt {

Range even_range(int rank, int size, std::int64_t numel, std::int64_t granule) {
  const std::int64_t granules = numel / granule + (numel % granule != 0 ? 1 : 0);
  // ⌊rB/n⌋ without a product that could overflow: B = qn + s gives rq + ⌊rs/n⌋.
  const auto bound = [&](std::int64_t r) {
    return std::min(numel, (r * (granules / size) + r * (granules % size) / size) * granule);
  };
  return {bound(rank), bound(rank + 1) - bound(rank)};
}

}  // namespace dt
