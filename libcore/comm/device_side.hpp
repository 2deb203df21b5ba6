#pragma once
// Messages of what lies on a device: through pinned memory of the host, where the same algorithms work on it,
// so that the bits are the same.

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "comm/staging.hpp"
#include "tensor/accelerator.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Between the host and the device on which a rank computes: a stream of copies either way, and the pinned
/// memory that they need, which is kept for later ones. Thread-safe.
class DeviceLink {
 public:
  /// While operations are started, the context must live.
  explicit DeviceLink(const Context& context);
  Device device() const { return device_; }
  /// Of pinned memory at a time; what a finished operation's copy still reads counts.
  std::size_t most_in_use_bytes() const { return pool_->most_in_use_bytes(); }

 private:
  friend class DeviceSide;
  StagingPool::Block take(std::size_t bytes);
  void give_after(std::shared_ptr<Mark> mark, StagingPool::Block block);
  bool is_reached(Mark& mark);

  Device device_;
  Stream compute_;
  mutable std::mutex mutex_;
  std::shared_ptr<StagingPool> pool_;
  std::deque<std::pair<std::shared_ptr<Mark>, StagingPool::Block>> leaving_;
  OwnStream down_, up_;  // after the memory: their work goes first
};

/// What one operation reads of a device and leaves there. The engine asks and tells it all but the first and
/// the last.
class DeviceSide {
 public:
  /// One of the operation's tensors: from which of its N elements on; and whether they are read (written).
  struct Access {
    Tensor tensor;
    std::int64_t begin = 0;
    bool is_used = true;
  };
  /// From here on, `in` is what the context has computed by now, and `out` is not touched before.
  DeviceSide(std::shared_ptr<DeviceLink> link, std::int64_t numel, const Access& in, const Access& out);
  ~DeviceSide() { stop(); }
  DeviceSide(const DeviceSide&) = delete;

  /// The tensors' places on the host. They may overlap, as a part does its whole.
  const Tensor& in() const { return in_; }
  const Tensor& out() const { return out_; }

  /// Whether what is read is on the host; never blocks. Errors, here and of is_over: environment, of a device
  /// that fails or hangs (see Mark).
  bool may_begin();
  /// What is to be written is complete on the host: enqueues its copy.
  void finish();
  /// Once it was finished: whether that copy is done.
  bool is_over();
  /// Nothing touches the operation's tensors any more, unless it was finished: waits for that, but for a
  /// device that hangs.
  void stop() noexcept;

  /// Once it was finished: what the context is given from now on comes after it.
  void order(const Context& context) const;

 private:
  std::shared_ptr<DeviceLink> link_;
  StagingPool::Block block_;
  Tensor in_, out_, target_;
  bool writes_;
  std::shared_ptr<Mark> read_, written_;
};

}  // namespace dt::comm
