#pragma once
// What a backend is that moves the memory of devices by itself, in the order of a stream: NCCL.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/streams/ctas.hpp"
#include "tensor/accelerator.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Ranks 0 … size−1 of one group, each with a device of its own. What is enqueued here begins when that
/// before it on the stream has ended, and ends when all ranks that take part have come to it: so all ranks of
/// the group enqueue the same, in the same order, on one stream each. Errors, of all: environment, naming
/// host and device. For one thread at a time.
class StreamTransport {
 public:
  struct Transfer {
    int peer;
    Tensor data;
    bool is_send;
  };
  virtual ~StreamTransport() = default;
  /// `meanwhile` is called again and again where an operation holds up the host, as when two ranks first
  /// meet.
  void set_meanwhile(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Device device() const = 0;
  /// At once, so that none of them waits for another. Those between two ranks are matched in order.
  virtual void exchange(Stream stream, std::span<const Transfer> transfers) = 0;
  /// data of the root becomes everyone's.
  virtual void broadcast(Stream stream, const Tensor& data, int root) = 0;
  /// out: the ranks' equal parts; in may be this rank's part of it.
  virtual void all_gather(Stream stream, const Tensor& in, const Tensor& out) = 0;
  /// In an order that the library chooses: the bits depend on it, its version and where ranks are.
  virtual void all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) = 0;
  /// in: N elements; out: this rank's of equal parts, and may be that part of in. In such an order, too.
  virtual void reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) = 0;
  /// Throws what has gone wrong since it was last asked, here or at a peer. Cheap; from any thread.
  virtual void check() = 0;
  /// All that is under way ends, though not as it should, within seconds, whatever peers do; this object is
  /// good for nothing any more. From any thread.
  virtual void abort() noexcept = 0;
  /// Called by all ranks together. Those of one colour (from 0) form a group, ordered by key, then by rank.
  /// Null where a rank has none.
  virtual std::unique_ptr<StreamTransport> split(std::optional<int> color, int key, StreamUse use) = 0;

 protected:
  std::function<void()> meanwhile_;
};

}  // namespace dt::comm
