#pragma once
// A group of ranks and the operations that they perform together.
// Legend: n ranks, N elements.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/numeric/range.hpp"
#include "base/system/host.hpp"
#include "comm/core/collective.hpp"
#include "comm/core/staging.hpp"
#include "comm/core/transport.hpp"
#include "comm/device_collectives/device_group.hpp"
#include "comm/engine.hpp"
#include "comm/node/locality.hpp"
#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt {
class Context;
}

namespace dt::comm {

using dt::Reduction;

struct Algorithm;
struct Caller;

/// A handle on a started operation. Copies refer to the same operation; an empty Work is done. If
/// the last copy is destroyed before the operation is done, the operation is cancelled (see
/// Engine::cancel_unwaited). Nothing touches the operation's buffers afterwards, so declare the Work after
/// them. The destructor does not wait, as the peer may be gone. When the operation is done, its
/// results are on the device.
class Work {
 public:
  Work() = default;
  explicit Work(std::shared_ptr<Engine> engine);
  /// Adds a started operation to those of this Work.
  void add(std::shared_ptr<Operation> operation) const;
  void add(std::shared_ptr<StreamOperation> operation) const;
  /// Adds the operations of `other` to those of this Work.
  void detach_handle(Work other) const;
  bool is_empty() const { return handle_ == nullptr; }
  bool done() const;
  /// Blocks until the host has done its part, and makes work that this context is given from now on
  /// wait for the whole operation. For results that kernels read next. On the CPU, where nothing is
  /// enqueued, this is wait_host().
  void wait(const Context& context) const;
  /// Blocks until the operation is done, and advances all other operations meanwhile. For results
  /// that the host reads.
  /// Errors: see Engine::wait.
  void wait_host() const;

 private:
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

/// A group of ranks. Each call of an operation starts it and returns. Tensors lie on the host, or
/// on the device on which the rank computes (ScopedDevice). On a device, an operation waits for the
/// work that the context was given before. It goes through streams if the group has them (see
/// set_device_transport), otherwise by messages in transfer chunks (see PinnedLimits). It goes the same way
/// on all ranks, for the receiver as for the sender. Buffers must stay valid and untouched until the Work
/// is done. After Work::wait(context), later work of that context may use them. The ranks'
/// arguments must match; otherwise ranks fail or time out.
/// Numerics: results are the same bits on every rank, whatever the timing. Reductions combine ranks in
/// a fixed tree (see combine).
/// Errors: at the start: internal, shapes do not fit, or memory is of another device; also what a
/// transport throws. While waiting: those of Engine::wait.
/// Collective: all ranks of the group call the same operations in the same order.
/// Thread safety: one thread at a time.
class Communicator {
 public:
  /// Creates the group of all ranks that a backend started. `name` appears in messages and records.
  /// Ranks with the same `host` reduce and gather large tensors through shared memory, if the
  /// system grants it. If there are several hosts, runs of ranks share it (see placement_of), so
  /// that fewer bytes pass between hosts.
  Communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Engine> engine, std::string name,
               std::string host = host_name());
  ~Communicator();
  Communicator(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& name() const { return name_; }
  /// Returns the ranks of the group, by their numbers in the group of all ranks.
  const std::vector<int>& members() const { return members_; }
  Engine& engine() { return *engine_; }
  /// Limits how many bytes of the group's reductions and gathers are under way in messages at a
  /// time, the oldest first. They borrow at most as much memory for arriving data. The limit is at
  /// least 256 bytes a rank; 0: no limit. Groups that are split from this one start with its limit.
  /// Collective: all ranks set the same, while nothing is under way.
  void set_bucket_bytes(std::size_t bytes);
  static constexpr std::size_t default_bucket_bytes = std::size_t{16} << 20;
  /// Returns the bytes that a group on streams keeps for arriving ranges: four buckets, at most 128
  /// MiB. On each of two levels, one range arrives while another is summed.
  static std::size_t stream_staging_bytes(std::size_t bucket_bytes) {
    constexpr std::size_t most = std::size_t{128} << 20;
    return bucket_bytes > 0 ? 4 * std::min(bucket_bytes, most / 4) : most;
  }
  /// Returns the most memory that operations borrowed at a time, in all groups split from one
  /// original group.
  std::size_t most_staging_bytes() const { return staging_->peak_bytes(); }

  /// Routes operations on the memory of the transport's device through that transport from now on,
  /// instead of by messages. This holds for the group and for groups split from it later.
  /// Operations run on a stream of the group, in the order in which they are started. Two ranks
  /// that send to each other must start their sends and receives in matching orders, or they
  /// deadlock; see send_receive().
  /// Collective: all ranks call it, each with a transport of the same rank and size; blocks until
  /// all ranks know each other's hosts.
  void set_device_transport(std::unique_ptr<DeviceTransport> transport,
                            ReduceOrder order = ReduceOrder::tree);
  bool has_device_transport() const { return device_group_ != nullptr; }
  /// Sets the order of reductions of a group that has streams. All ranks must set the same.
  void set_reduce_order(ReduceOrder order) { device_group_->set_order(order); }

  /// Sends to another rank of the group. Sends match the peer's receives in the order of calls.
  Work send(int peer, const Tensor& data);
  Work receive(int peer, const Tensor& data);
  /// Sends and receives. Neither waits for the other, so ranks can pass data round a ring.
  Work send_receive(int to, const Tensor& own, int from, const Tensor& arriving);
  /// Makes several transfers. None of them waits for another. Two ranks list the transfers between them in
  /// the same order. Ranks without transfers need not call it.
  Work exchange(std::span<const DeviceTransport::Transfer> transfers);

  /// Starts a collective. The functions below name its kinds.
  Work start(Collective collective);

  /// Sets out = the combined `in` of all ranks; `out` may be `in`. Large tensors are
  /// reduce-scattered and all-gathered in segments. Small tensors go along a tree, with the same
  /// bits.
  Work all_reduce(const Tensor& in, const Tensor& out, Reduction reduction = Reduction::sum) {
    return start({.kind = OperationKind::all_reduce, .in = in, .out = out, .reduction = reduction});
  }
  /// Sets out = this rank's range (see even_range) of the combined `in`.
  /// Shapes: `in` has N elements; `out` has this rank's range, and may be that range of `in`.
  Work reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction = Reduction::sum,
                      std::int64_t granule = 1) {
    return start({.kind = OperationKind::reduce_scatter,
                  .in = in,
                  .out = out,
                  .reduction = reduction,
                  .granule = granule});
  }
  /// Gathers all ranks' ranges on every rank.
  /// Shapes: `out` has N elements; `in` has this rank's range, and may be that range of `out`.
  Work all_gather(const Tensor& in, const Tensor& out, std::int64_t granule = 1) {
    return start({.kind = OperationKind::all_gather, .in = in, .out = out, .granule = granule});
  }
  /// Copies the root's `data` to all ranks.
  Work broadcast(const Tensor& data, int root) {
    return start({.kind = OperationKind::broadcast, .in = data, .out = data, .root = root});
  }
  /// Sets the root's `out` = the combined `in` of all ranks; `out` may be `in`. Other ranks' `out` is
  /// not used.
  Work reduce(const Tensor& in, const Tensor& out, int root, Reduction reduction = Reduction::sum) {
    return start({.kind = OperationKind::reduce, .in = in, .out = out, .reduction = reduction, .root = root});
  }
  /// Gathers all ranks' equal ranges on the root. Other ranks' `out` is not used.
  /// Shapes: `out` has N elements; `in` has N/n, and may be the root's range of `out`.
  Work gather(const Tensor& in, const Tensor& out, int root) {
    return start({.kind = OperationKind::gather, .in = in, .out = out, .root = root});
  }
  /// Brings each rank its range of the root's `in`, of n equal ranges. Other ranks' `in` is not used.
  /// Shapes: `in` has N elements; `out` has N/n, and may be the root's range of `in`.
  Work scatter(const Tensor& in, const Tensor& out, int root) {
    return start({.kind = OperationKind::scatter, .in = in, .out = out, .root = root});
  }
  /// Sends each rank its part of `in`, and gets a part from each. The parts lie in the order of ranks.
  /// Shapes: in_counts and out_counts have the elements of each part; rank p's in_counts[q] is rank q's
  /// out_counts[p]. Without them all parts are equal. `in` and `out` do not overlap.
  Work all_to_all(const Tensor& in, const Tensor& out, std::span<const std::int64_t> in_counts = {},
                  std::span<const std::int64_t> out_counts = {}) {
    return start({.kind = OperationKind::all_to_all,
                  .in = in,
                  .out = out,
                  .in_counts = in_counts,
                  .out_counts = out_counts});
  }
  /// Returns work that is done once every rank has called barrier().
  Work barrier() { return start({.kind = OperationKind::barrier}); }

  /// Splits the group. Ranks of one color form a group, ordered by key, then by rank. A rank
  /// without a color is in no group, and gets a null pointer. `use` decides how many SMs of a GPU
  /// the group's stream operations may hold (max_ctas).
  /// Collective: all ranks call it; blocks.
  std::unique_ptr<Communicator> split(std::optional<int> color, int key, std::string name,
                                      DeviceGroupUse use = DeviceGroupUse::world);

 private:
  struct Call;
  Communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Engine> engine, std::string name,
               std::vector<int> members, std::shared_ptr<StagingPool> staging, std::string host);
  std::shared_ptr<DeviceLink> link_for(OperationKind kind, const Tensor& in, const Tensor& out) const;
  std::shared_ptr<Operation> start(const Call& call, Algorithm algorithm,
                                   std::shared_ptr<DeviceSide> device = {});
  Work start_on_host(const Call& call, Algorithm algorithm);
  /// Starts the chunks of an operation, each by the algorithm make(chunk, elements on the host).
  template <class MakeAlgorithm>
  Work start_chunks(const Call& call, const std::shared_ptr<DeviceLink>& link,
                    const std::vector<TransferChunk>& chunks, const MakeAlgorithm& make);
  /// Starts operations by a call of enqueue(the group on streams).
  template <class Enqueue>
  Work start_on_device(std::span<const Call> calls, const DeviceLink& link, const Enqueue& enqueue);
  std::vector<HostName> gather_hosts();
  std::unique_ptr<DeviceTransport> split_device_group(std::optional<int> color, int key, DeviceGroupUse use,
                                                      std::size_t num_ranks);
  void check_peer(int peer) const;
  Work start_transfer(OperationKind kind, int peer, const Tensor& data);
  Caller caller() const;

  std::unique_ptr<Transport> transport_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<StagingPool> staging_;
  std::string host_;
  std::string name_;
  std::vector<int> members_;
  int rank_;
  int size_;
  std::shared_ptr<Locality> locality_;
  std::size_t bucket_bytes_ = 0;
  std::unique_ptr<DeviceGroup> device_group_;  // nullptr: device memory goes by messages, too
  int group_;                                  // number in the recorder
  std::int64_t sequence_ = 0;                  // sequence of the newest operation, except sends and receives
};

}  // namespace dt::comm
