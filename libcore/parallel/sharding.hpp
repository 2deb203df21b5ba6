#pragma once
// Divides the state of training among data-parallel ranks (ZeRO: Rajbhandari et al. 2020).

#include <cstdint>

#include "tensor/part.hpp"

namespace dt::parallel {

/// Granule of parts of a flat buffer. Parts start on the blocks by which sums over ranks are made, so
/// that these do not depend on the division.
inline constexpr std::int64_t shard_granule = 4096;

/// The division of a flat buffer, and this rank's part. ZeRO's stage 0 divides nothing, 1 the
/// optimizer's state, 2 gradients too, 3 weights too.
struct Division {
  int zero = 0;
  int rank = 0;  // rank among those that divide it
  int size = 1;

  bool divides(int from) const { return zero >= from && size > 1; }
  bool divides_optimizer() const { return divides(1); }
  bool divides_gradients() const { return divides(2); }
  bool divides_weights() const { return divides(3); }
  /// Returns the elements of a flat buffer whose optimizer state this rank holds.
  Part own(std::int64_t numel) const {
    if (!divides_optimizer()) return {0, numel};
    return part_of(rank, size, numel, shard_granule);
  }
};

}  // namespace dt::parallel
