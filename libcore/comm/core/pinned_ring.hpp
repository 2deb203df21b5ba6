#pragma once
// Pinned host memory for messages of device memory. It holds a few transfer chunks of operations, which
// take turns.

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/core/staging.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::comm {

/// Bounds of the memory that messages take, the same on all ranks. An operation larger than a chunk
/// goes in several. Each lane (see PinnedRing) has at most `most_on_host` of them on the host at a
/// time.
struct PinnedLimits {
  std::size_t bytes = std::size_t{8} << 20;
  std::size_t max_host_bytes = 8;
  /// Returns the most memory that a lane takes if its operations have no more than `operation_bytes`.
  std::size_t max_lane_bytes(std::size_t operation_bytes) const {
    return max_host_bytes * std::min(bytes, operation_bytes);
  }
};

/// The pinned memory of a lane. A lane is what ranks match by its order: a group's operations, its
/// sends to a rank, or its receives from a rank. Chunks of a lane take turns in the order of their
/// calls. So the oldest chunk anywhere has its memory on all ranks that it needs, and no ranks wait
/// for each other in a circle.
/// Thread safety: one thread at a time.
class PinnedRing {
 public:
  /// A chunk's turn to use some of the memory.
  class Turn {
   public:
    Turn(StagingPool::Block memory, std::shared_ptr<Turn> before)
        : memory_(std::move(memory)), before_(std::move(before)) {}
    const StagingPool::Block& memory() const { return memory_; }
    /// Returns whether all earlier turns with this memory are over. Never blocks, and stays true.
    bool has_begun();
    /// Ends the turn. From now on only a device touches the memory, until it reaches `last`; null:
    /// not at all.
    void leave(std::shared_ptr<Event> last);
    bool is_finished();

   private:
    StagingPool::Block memory_;
    std::shared_ptr<Turn> before_;
    bool is_left_ = false;
    std::shared_ptr<Event> last_;
  };

  PinnedRing(std::shared_ptr<StagingPool> pool, std::size_t most_turns)
      : pool_(std::move(pool)), most_turns_(most_turns) {}
  /// Returns a turn with at least `bytes` of memory, which is the chunk's once the turn has begun.
  /// Errors: environment, memory is short.
  std::shared_ptr<Turn> take(std::size_t bytes);

 private:
  std::size_t next_place();

  std::shared_ptr<StagingPool> pool_;
  std::size_t most_turns_;
  std::vector<std::shared_ptr<Turn>> newest_;  // by place
  std::size_t last_place_ = 0;
  std::size_t largest_ = 0;  // so that places grow once, not little by little
};

}  // namespace dt::comm
