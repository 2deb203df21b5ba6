#pragma once
// The interface of a backend that moves device memory by itself, in the order of a stream (NCCL), and
// the library that makes the program's.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tensor/device/accelerator.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

class Communicator;

/// The work beside which a group's operations run.
enum class DeviceGroupUse {
  world,        // all ranks: decisions, and what has no group of its own
  overlapping,  // sums of gradients and gathers of weights, while units compute
  waited_for,   // layers and sequences that ranks divide: computing waits for the exchange
  pipeline,     // one channel between two stages, whose receives are posted before the data are sent
};

/// Returns the most CTAs of a communicator of that use (NCCL's maxCTAs); 0: as many as NCCL chooses.
/// NCCL's kernels run one block (CTA) a channel, and a block holds an SM of the GPU until its data have
/// come. The communicator's configuration and the memory estimate both read the limit.
constexpr int max_ctas(DeviceGroupUse use) {
  // An H100 has 132 SMs. A stage's two standing receives hold 4 of them, and what overlaps holds
  // 16. NCCL takes two channels for a peer behind a network or PCIe, and up to 32 behind NVLink
  // (ncclTopoGetNchannels in src/graph/paths.cc of 2.28). The latter move data faster than a stage
  // computes them.
  constexpr int of_overlapping = 16, of_pipeline = 2;
  switch (use) {
    case DeviceGroupUse::overlapping:
      return of_overlapping;
    case DeviceGroupUse::pipeline:
      return of_pipeline;
    case DeviceGroupUse::world:
    case DeviceGroupUse::waited_for:
      return 0;
  }
  return 0;
}

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
  /// Sets the root's out = the combined `in` of all ranks. Other ranks' `out` is not used.
  /// Numerics: those of all_reduce().
  virtual void reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction, int root) = 0;
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

/// The transport of a group of one rank. Copies the inputs of sums and gathers to their outputs. Takes no
/// communicator and no memory of a library.
class SingleRankTransport final : public DeviceTransport {
 public:
  explicit SingleRankTransport(Device device) : device_(device) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Device device() const override { return device_; }
  void exchange(Stream stream, std::span<const Transfer> transfers) override;
  void broadcast(Stream, const Tensor&, int) override {}
  void all_gather(Stream stream, const Tensor& in, const Tensor& out) override;
  void all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) override;
  void reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction, int root) override;
  void reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction reduction) override;
  void check() override {}
  void abort() noexcept override {}
  std::unique_ptr<DeviceTransport> split(std::optional<int> color, int key, DeviceGroupUse use) override;

 private:
  Device device_;
};

/// The library that makes the program's device transports.
class DeviceTransportLibrary {
 public:
  virtual ~DeviceTransportLibrary() = default;
  /// Returns "NCCL 2.28.9".
  /// Errors: environment, the library is missing, or another than the program was built for.
  virtual std::string version() = 0;
  /// Returns whether several ranks of a group may compute on one GPU.
  virtual bool takes_shared_gpus() = 0;
  /// Makes the group's transport, each rank for its device. Waits for the other ranks for `timeout_s`
  /// (0: for ever).
  /// Errors: environment.
  /// Collective: all ranks of the group call it, and no others; blocks.
  virtual std::unique_ptr<DeviceTransport> open(Communicator& group, Device device, double timeout_s,
                                                DeviceGroupUse use = DeviceGroupUse::world) = 0;
  /// Returns a text that says which limits on CTAs (max_ctas) take effect, given the environment.
  virtual std::string limits() { return {}; }
  /// Aborts all operations under way on the transports of this library. Aborts them all at once,
  /// since the stream of one may wait for another's. Leaves transports of other libraries alone.
  virtual void abort(std::span<DeviceTransport* const> transports) noexcept = 0;
};

/// Returns the program's library; null: there is none.
DeviceTransportLibrary* device_transport_library();
/// Sets the program's library; null removes it. Call once, before device_transport_library().
void set_device_transport_library(DeviceTransportLibrary* library);

}  // namespace dt::comm
