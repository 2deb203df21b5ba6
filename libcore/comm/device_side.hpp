#pragma once
// Messages of what lies on a device: through pinned memory of the host, where the same algorithms work on it,
// so that the bits are the same.

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/pinned_ring.hpp"
#include "comm/staging.hpp"
#include "tensor/accelerator.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// What a group's ranks match by its order: operations of all, or of a peer (from 0 on) what is sent to it
/// or received.
struct Lane {
  int group = 0;
  int peer = -1;
  bool is_send = false;
  auto operator<=>(const Lane&) const = default;
};

/// Between the host and the device on which a rank computes: a stream of copies either way, and the pinned
/// memory that they need, of each lane so much. Thread-safe.
class DeviceLink {
 public:
  /// While operations are started, the context must live.
  explicit DeviceLink(const Context& context, const PortionLimits& limits = {});
  Device device() const { return device_; }
  Stream computing() const { return compute_; }
  std::size_t portion_bytes() const { return limits_.bytes; }
  /// Of pinned memory at a time.
  std::size_t most_pinned_bytes() const { return pool_->most_in_use_bytes(); }
  /// The end of what the context was given until now.
  std::shared_ptr<Mark> mark_computed() const;

 private:
  friend class DeviceSide;
  std::shared_ptr<PinnedRing::Turn> take(const Lane& lane, std::size_t bytes);

  Device device_;
  Stream compute_;
  PortionLimits limits_;
  mutable std::mutex mutex_;  // also of all marks
  std::shared_ptr<StagingPool> pool_;
  std::map<Lane, PinnedRing> rings_;
  OwnStream down_, up_;  // after the memory: their work goes first
};

/// Elements of a device, and where they lie among those of a portion on the host.
struct Span {
  Tensor there;
  std::int64_t begin = 0;
};

/// What one portion of an operation reads of a device and leaves there. The engine asks and tells it all but
/// the first and the last.
class DeviceSide {
 public:
  /// `computed`: once that is reached, what the portion reads is there. What it writes is not touched before
  /// what the context was given by now is done.
  DeviceSide(std::shared_ptr<DeviceLink> link, const Lane& lane, DType dtype, std::int64_t numel,
             std::vector<Span> reads, std::vector<Span> writes, std::shared_ptr<Mark> computed);
  ~DeviceSide() { stop(); }
  DeviceSide(const DeviceSide&) = delete;

  /// All elements of the portion, on the host.
  const Tensor& staged() const { return staged_; }

  /// Whether the device has computed what is read; never blocks. Errors, here and of the two below:
  /// environment, of a device that fails or hangs (see Mark).
  bool is_computed();
  /// Whether what is read is on the host, and the memory is the portion's; never blocks.
  bool may_begin();
  /// What is to be written is complete on the host: enqueues its copy.
  void finish();
  /// Once it was finished: whether that copy is done.
  bool is_over();
  /// Nothing touches the operation's tensors any more, unless it was finished: waits for that, but for a
  /// device that hangs.
  void stop() noexcept;

  bool writes() const { return !writes_.empty(); }
  /// Once it was finished: what the context is given from now on comes after it, and after all that the link
  /// has copied to the device until now.
  void order(const Context& context) const;

 private:
  enum class State { waiting, arriving, begun, left };
  bool has_computed();
  void start_reading();
  Tensor of_host(const Span& span) const { return staged_.flat(span.begin, span.there.numel()); }

  std::shared_ptr<DeviceLink> link_;
  std::shared_ptr<PinnedRing::Turn> turn_;
  Tensor staged_;
  std::vector<Span> reads_, writes_;
  State state_ = State::waiting;
  std::shared_ptr<Mark> computed_, read_, written_;
};

}  // namespace dt::comm
