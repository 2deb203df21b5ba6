#pragma once
// Divides the state of training among data-parallel ranks (ZeRO: Rajbhandari et al. 2020).

#include <cstdint>

#include "base/numeric/range.hpp"

namespace dt::parallel {

/// Granule of shards of a flat buffer. Shards start on the blocks by which sums over ranks are made, so
/// that these do not depend on the sharding.
inline constexpr std::int64_t shard_granule = 4096;

/// The sharding of a flat buffer, and this rank's shard. ZeRO's stage 0 divides nothing, 1 the
/// optimizer's state, 2 gradients too, 3 weights too.
struct ZeroSharding {
  int zero = 0;
  int rank = 0;  // rank among those that divide it
  int size = 1;

  bool shards_from_stage(int from) const { return zero >= from && size > 1; }
  bool shards_optimizer() const { return shards_from_stage(1); }
  bool shards_gradients() const { return shards_from_stage(2); }
  bool shards_weights() const { return shards_from_stage(3); }
  /// Returns the elements of a flat buffer whose optimizer state this rank holds.
  Range owned_range(std::int64_t numel) const {
    if (!shards_optimizer()) return {0, numel};
    return even_range(rank, size, numel, shard_granule);
  }
};

}  // namespace dt::parallel
