#pragma once
// A group of ranks and the operations that they perform together. Legend: n ranks, N elements.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host.hpp"
#include "comm/engine.hpp"
#include "comm/locality.hpp"
#include "comm/reduction.hpp"
#include "comm/staging.hpp"
#include "comm/streams/group.hpp"
#include "comm/transport.hpp"
#include "tensor/part.hpp"
#include "tensor/tensor.hpp"

namespace dt {
class Context;
}

namespace dt::comm {

struct Algorithm;
struct Caller;
struct Portion;
struct Sides;

/// An operation that has been started. Copies name the same one; an empty one is done. Where the last copy
/// goes before that is done, nothing touches its buffers any more, so declare it after them; it does not
/// wait, as the peer may be gone (see Engine::abandon). What it leaves on a device is there when it is done,
/// and what is computed after wait() finds it there.
class Work {
 public:
  Work() = default;
  explicit Work(std::shared_ptr<Engine> engine);
  /// One that was started is part of it, too.
  void add(std::shared_ptr<Operation> operation) const;
  void add(std::shared_ptr<StreamOperation> operation) const;
  /// What is part of `other` is part of this one.
  void take(Work other) const;
  bool is_empty() const { return handle_ == nullptr; }
  bool done() const;
  /// Blocks until the host has done its part; what is computed with this context from now on comes after all
  /// of it: for what is computed with next. On the CPU, where nothing is enqueued, the same as wait_host().
  void wait(const Context& context) const;
  /// Blocks, and advances everything else meanwhile: for what the host reads. Errors: see Engine::wait.
  void wait_host() const;

 private:
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

/// For one thread at a time. All ranks of the group call the same operations in the same order; each call
/// starts one and returns. Tensors lie on the host or on the device on which the rank computes (ComputesOn):
/// there an operation comes after what that context was given before, and goes through streams where the
/// group has them (see set_streams), else by messages in portions (see PortionLimits): so do its tensors on
/// all ranks, then; who receives as who sends. Buffers must stay, and
/// their contents be left alone, until the Work is done, or the context that has waited for it comes to what
/// follows. Results are the same bits on every rank, whatever the timing: reductions combine ranks in a fixed
/// tree (see combine). Errors, at the start: internal where shapes do not fit, or memory is of another
/// device, and what a transport throws; while waiting: those of Engine::wait. What one rank passes must fit
/// what the others pass; where it does not, ranks fail or time out.
class Communicator {
 public:
  /// The group of everyone that a backend started; `name` appears in messages and records. Ranks that name
  /// one host reduce and gather large tensors through memory that they share, where they can have it: all,
  /// or, of several hosts, runs of them (see placement_of), so that fewer bytes pass between.
  Communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Engine> engine, std::string name,
               std::string host = host_name());
  ~Communicator();
  Communicator(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& name() const { return name_; }
  /// Ranks of the group within the group of everyone.
  const std::vector<int>& members() const { return members_; }
  Engine& engine() { return *engine_; }
  /// How much of the group's reductions and gathers is under way in messages at a time, the oldest first, and
  /// so the most memory that they borrow for what arrives; at least 256 bytes a rank; 0: any. The same on all
  /// ranks, while nothing is under way; groups made from this one begin with it.
  void set_bucket_bytes(std::size_t bytes);
  static constexpr std::size_t default_bucket_bytes = std::size_t{16} << 20;
  /// Returns the memory that a group on streams keeps for parts that arrive to be summed: four buckets, since
  /// on each of two levels one part arrives while another is summed, and at most 128 MiB.
  static std::size_t stream_staging_bytes(std::size_t bucket_bytes) {
    constexpr std::size_t most = std::size_t{128} << 20;
    return bucket_bytes > 0 ? 4 * std::min(bucket_bytes, most / 4) : most;
  }
  /// The most that operations of all groups made from one borrowed at a time.
  std::size_t most_staging_bytes() const { return staging_->most_in_use_bytes(); }

  /// From now on this group's operations on the memory of the transport's device, and those of groups made
  /// from it, go through that transport, and no messages: they begin and end on a stream of the group, in the
  /// order in which they are started. So two ranks that each send to the other and receive do that in orders
  /// that fit, or wait for each other in vain. Called by all ranks together, of which each is the transport's
  /// of its number; blocks until all have told their hosts.
  void set_streams(std::unique_ptr<StreamTransport> transport, ReduceOrder order = ReduceOrder::tree);
  bool has_streams() const { return streams_ != nullptr; }
  /// Allocates the memory in which a group on streams sums, before its first sum does. An allocation may wait
  /// for all that the device was given.
  void take_memory_of_sums() {
    if (streams_) streams_->take_memory();
  }
  /// Of a group that has them; the same on all ranks.
  void set_reduce_order(ReduceOrder order) { streams_->set_order(order); }

  /// Matched with the peer's receive in the order of calls. `peer` is another rank of the group.
  Work send(int peer, const Tensor& data);
  Work receive(int peer, const Tensor& data);
  /// Both, neither of which waits for the other: so rows go round.
  Work send_receive(int to, const Tensor& own, int from, const Tensor& arriving);

  /// out = in of all ranks, combined; out may be in. Reduce-scatter and all-gather in segments; small ones
  /// along a tree, of the same bits.
  Work all_reduce(const Tensor& in, const Tensor& out, Reduction reduction = Reduction::sum);
  /// in: N elements; out: this rank's part (see part_of) of the combined N, and may be that part of in.
  Work reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction = Reduction::sum,
                      std::int64_t granule = 1);
  /// out: N elements, in: this rank's part, and may be that part of out.
  Work all_gather(const Tensor& in, const Tensor& out, std::int64_t granule = 1);
  Work broadcast(const Tensor& data, int root);
  /// Done when every rank has called it.
  Work barrier();

  /// Called by all ranks together; blocks. Ranks of one colour form a group, ordered by key, then by rank;
  /// one without a colour is in none, and gets a null pointer.
  /// `use` says what operations on streams may take of a GPU.
  std::unique_ptr<Communicator> split(std::optional<int> color, int key, std::string name,
                                      StreamUse use = StreamUse::world);

 private:
  struct Call;
  Communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Engine> engine, std::string name,
               std::vector<int> members, std::shared_ptr<StagingPool> staging, std::string host);
  using MakeAlgorithm = std::function<Algorithm(const Portion& portion, const Tensor& staged)>;
  std::shared_ptr<DeviceLink> link_for(const Sides& sides) const;
  std::shared_ptr<Operation> start(const Call& call, Algorithm algorithm,
                                   std::shared_ptr<DeviceSide> device = {});
  Work start_on_host(const Call& call, Algorithm algorithm);
  Work start_portions(const Call& call, const std::shared_ptr<DeviceLink>& link,
                      const std::vector<Portion>& portions, const MakeAlgorithm& make);
  /// enqueue(the group on streams).
  template <class Enqueue>
  Work start_on_streams(std::span<const Call> calls, const DeviceLink& link, const Enqueue& enqueue);
  std::vector<HostName> gather_hosts();
  std::unique_ptr<StreamTransport> split_streams(std::optional<int> color, int key, StreamUse use,
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
  std::unique_ptr<StreamGroup> streams_;  // nullptr: device memory goes by messages, too
  int group_;                             // of the recorder
  std::int64_t sequence_ = 0;             // of the newest operation but sends and receives
};

}  // namespace dt::comm
