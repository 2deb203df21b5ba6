#pragma once
// Carries messages of device memory through pinned host memory. The algorithms for host tensors run
// there, so the bits are the same.

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/core/staging.hpp"
#include "tensor/context.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Bounds of the memory that messages take, the same on all ranks. An operation larger than a chunk
/// goes in several. Each lane (see PinnedRing) has at most `max_host_bytes` of them on the host at a
/// time.
struct PinnedLimits {
  std::size_t bytes = std::size_t{8} << 20;
  std::size_t max_host_bytes = 8;
  /// Returns the most memory that a lane takes if its operations have no more than `operation_bytes`.
  std::size_t max_lane_bytes(std::size_t operation_bytes) const {
    return max_host_bytes * std::min(bytes, operation_bytes);
  }
};

/// The pinned memory of a lane, which holds a few of its transfer chunks. A lane is what ranks match by
/// its order: a group's operations, its sends to a rank, or its receives from a rank. Chunks of a lane
/// take turns in the order of their calls. So the oldest chunk anywhere has its memory on all ranks that
/// it needs, and no ranks wait for each other in a circle.
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

/// A sequence of operations that a group's ranks match by order. It has the operations of the whole
/// group (peer −1), the sends to one peer, or the receives from one peer.
struct Lane {
  int group = 0;
  int peer = -1;
  bool is_send = false;
  auto operator<=>(const Lane&) const = default;
};

/// The link between the host and the device on which a rank computes: a stream of copies each way, and
/// pinned memory, of which each lane has a bounded share.
/// Thread safety: safe from several threads.
class DeviceLink {
 public:
  /// Creates the streams. The context must live as long as operations are started.
  explicit DeviceLink(const Context& context, const PinnedLimits& limits = {});
  Device device() const { return device_; }
  Stream computing() const { return compute_; }
  std::size_t chunk_bytes() const { return limits_.bytes; }
  /// Returns the most pinned memory that was in use at a time.
  std::size_t peak_pinned_bytes() const { return pool_->peak_bytes(); }
  /// Returns an event at the end of the work that the context has been given until now.
  std::shared_ptr<Event> mark_computed() const;

 private:
  friend class DeviceSide;
  std::shared_ptr<PinnedRing::Turn> take(const Lane& lane, std::size_t bytes);

  Device device_;
  Stream compute_;
  PinnedLimits limits_;
  mutable std::mutex mutex_;  // also guards all events
  std::shared_ptr<StagingPool> pool_;
  std::map<Lane, PinnedRing> rings_;
  ScopedStream down_, up_;  // declared after the memory, so that their work ends first
};

/// Elements of a device tensor, and their place among the elements of a transfer chunk on the host.
struct StagedRange {
  Tensor there;
  std::int64_t begin = 0;
};

/// The device's side of one transfer chunk of an operation: what the chunk reads from the device and what it
/// writes there. The engine calls is_computed(), may_begin(), finish(), is_over() and stop().
class DeviceSide {
 public:
  /// Creates the device's side of a chunk. The device has computed what the chunk reads once
  /// `computed` is reached. The chunk writes only after the work that the context has been given
  /// by now is done.
  DeviceSide(std::shared_ptr<DeviceLink> link, const Lane& lane, DType dtype, std::int64_t numel,
             std::vector<StagedRange> reads, std::vector<StagedRange> writes,
             std::shared_ptr<Event> computed);
  ~DeviceSide() { stop(); }
  DeviceSide(const DeviceSide&) = delete;

  /// Returns all elements of the chunk, on the host.
  const Tensor& staged() const { return staged_; }

  /// Returns whether the device has computed what is read. Never blocks.
  /// Errors, here and in the next three functions: environment, a device that fails or hangs (see
  /// Event).
  bool is_computed();
  /// Returns whether what is read is on the host and the chunk has its memory. Never blocks.
  bool may_begin();
  /// Enqueues the copy of the results to the device. Call once they are complete on the host.
  void finish();
  /// Returns whether that copy is done. Call after finish().
  bool is_finished();
  /// Cancels a chunk that was not finished. On return nothing touches the operation's tensors any more:
  /// waits for copies, except for those of a device that hangs.
  void stop() noexcept;

  bool writes() const { return !writes_.empty(); }
  /// Makes work that the context is given from now on wait for that copy, and for all copies of the
  /// link to the device until now. Call after finish().
  void order(const Context& context) const;

 private:
  enum class State { waiting, arriving, begun, left };
  bool has_computed();
  void start_reading();
  Tensor of_host(const StagedRange& span) const { return staged_.flat(span.begin, span.there.numel()); }

  std::shared_ptr<DeviceLink> link_;
  std::shared_ptr<PinnedRing::Turn> turn_;
  Tensor staged_;
  std::vector<StagedRange> reads_, writes_;
  State state_ = State::waiting;
  std::shared_ptr<Event> computed_, read_, written_;
};

}  // namespace dt::comm
