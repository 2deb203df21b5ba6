#pragma once
// The interface of a backend that moves device memory by itself, in the order of a stream: NCCL.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/device_collectives/ctas.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Moves data between ranks 0 … size−1 of one group, each with a device of its own. An operation
/// begins when the earlier work on its stream has ended. It ends when all ranks that take part have
/// reached it.
/// Errors, of all functions: environment, naming host and device.
/// Collective: all ranks of the group enqueue the same, in the same order, on one stream each.
/// Thread safety: one thread at a time.
class DeviceTransport {
 public:
  struct Transfer {
    int peer;
    Tensor data;
    bool is_send;
  };
  virtual ~DeviceTransport() = default;
  /// Sets a function that is called repeatedly while an operation blocks the host, as when two
  /// ranks first meet.
  void set_overlapped_work(std::function<void()> overlapped_work) {
    overlapped_work_ = std::move(overlapped_work);
  }
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Device device() const = 0;
  /// Sends and receives at once, so that no transfer waits for another. Transfers between two ranks are
  /// matched in order.
  virtual void exchange(Stream stream, std::span<const Transfer> transfers) = 0;
  /// Copies the root's `data` to all ranks.
  virtual void broadcast(Stream stream, const Tensor& data, int root) = 0;
  /// Gathers the ranks' equal ranges in `out`. `in` may be this rank's range of it.
  virtual void all_gather(Stream stream, const Tensor& in, const Tensor& out) = 0;
  /// Sets out = the combined `in` of all ranks.
  /// Numerics: the library chooses the order; the bits depend on it, its version and where ranks are.
  virtual void all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) = 0;
  /// Sets out = this rank's range of the combined `in`.
  /// Shapes: `in` has N elements; `out` is this rank's of equal ranges, and may be that range of `in`.
  /// Numerics: those of all_reduce().
  virtual void reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) = 0;
  /// Throws what has gone wrong since the last call, here or at a peer. Cheap.
  /// Thread safety: any thread may call it.
  virtual void check() = 0;
  /// Aborts all that is under way within seconds, whatever peers do. The object is unusable
  /// afterwards.
  /// Thread safety: any thread may call it.
  virtual void abort() noexcept = 0;
  /// Splits the group. Ranks of one color (from 0) form a group, ordered by key, then by rank.
  /// Returns null if this rank has no color.
  /// Collective: all ranks call it; blocks.
  virtual std::unique_ptr<DeviceTransport> split(std::optional<int> color, int key, DeviceGroupUse use) = 0;

 protected:
  std::function<void()> overlapped_work_;
};

}  // namespace dt::comm
