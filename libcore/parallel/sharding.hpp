#pragma once
// How the state of training is divided among data-parallel ranks (ZeRO: Rajbhandari et al. 2020).

#include <cstdint>

#include "comm/communicator.hpp"

namespace dt::parallel {

/// Parts of a flat buffer start on the blocks by which sums that cross ranks are made, so that these do not
/// depend on the division.
inline constexpr std::int64_t shard_granule = 4096;

/// Which part of what one rank holds. Stage 0 divides nothing, 1 the optimizer's state, 2 gradients too, 3
/// weights too.
struct Division {
  int stage = 0;
  int rank = 0;  // among those that divide it
  int size = 1;

  bool divides(int from_stage) const { return stage >= from_stage && size > 1; }
  bool divides_optimizer() const { return divides(1); }
  bool divides_gradients() const { return divides(2); }
  bool divides_weights() const { return divides(3); }
  /// Of a flat buffer's elements, those whose optimizer state this rank holds.
  comm::Part own(std::int64_t numel) const {
    if (!divides_optimizer()) return {0, numel};
    return comm::part_of(rank, size, numel, shard_granule);
  }
};

/// The data-parallel ranks as this one sees them. Both groups must outlive what is given them.
struct Sharding {
  int stage = 0;
  comm::Communicator* shards = nullptr;    // those that divide the state; absent: this rank alone
  comm::Communicator* replicas = nullptr;  // those that hold the same part; absent: this rank alone

  Division division() const { return shards ? Division{stage, shards->rank(), shards->size()} : Division{}; }
  bool has_replicas() const { return replicas && replicas->size() > 1; }
};

}  // namespace dt::parallel
