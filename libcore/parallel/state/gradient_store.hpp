#pragma once
// Holds the gradients of a step. The store sums them over this rank's micro-batches and over the
// ranks, separately for each holder of a group, and then adds the holders' sums. A model of the store says
// by sizes alone which buffers of its pool a step takes.

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/groups.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/precision.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// The sizes of the buffers that a store acquires and releases in one step. Each kind of store has a model
/// beside it, with functions of the same names, that acquires and releases in the same order.
class SimulatedGradients {
 public:
  /// Table, precision and groups must outlive the model.
  SimulatedGradients(const LocalTable& local, const Precision& precision, const Groups& ranks,
                     SimulatedPool pool)
      : local_(local), precision_(precision), ranks_(ranks), pool_(std::move(pool)) {}
  virtual ~SimulatedGradients() = default;

  /// Models GradientStore::unit_gradients().
  virtual void acquire(int unit) = 0;
  virtual void reduce(int unit) = 0;
  virtual void wait_reductions() = 0;
  /// Models complete(), or finish_tied() of that group.
  void finish(std::optional<int> group);
  const std::vector<std::size_t>& missing() const { return pool_.missing(); }

 protected:
  const LocalTable& local() const { return local_; }
  const Precision& precision() const { return precision_; }
  const Groups& ranks() const { return ranks_; }
  SimulatedPool& pool() { return pool_; }
  std::size_t acquire_elements(std::int64_t numel, DType dtype) {
    return pool_.acquire(storage_bytes(dtype, numel));
  }
  /// Returns the size of the buffer in which so many values travel; 0 if they travel as they are.
  std::size_t acquire_wire(std::int64_t numel) {
    return precision_.wire() == precision_.gradient ? 0 : acquire_elements(numel, precision_.wire());
  }
  /// Acquires a holder's wire, until release_wires().
  void hold_wire(std::int64_t numel) { wires_.push_back(acquire_wire(numel)); }
  void release_wires() {
    for (std::size_t& bytes : wires_) pool_.release(bytes);
    wires_.clear();
  }

 private:
  const LocalTable& local_;
  const Precision& precision_;
  const Groups& ranks_;
  SimulatedPool pool_;
  std::vector<std::size_t> wires_;
  std::set<int> is_final_;  // groups
};

/// The gradients of a step. Groups are local ones, units have their global numbers. A kind of store
/// (WholeGradients, ShardedGradients) says how micro-batches and data-parallel ranks are summed. The sums of
/// both kinds are bit-identical for one micro-batch a rank. Replicas of a shard are summed next. Last,
/// tensor-parallel ranks sum the gradients of which they have only partial sums, in the gradients' dtype.
/// Errors: internal, this rank does not hold the unit.
class GradientStore {
 public:
  virtual ~GradientStore() = default;
  GradientStore(const GradientStore&) = delete;
  GradientStore& operator=(const GradientStore&) = delete;

  /// Begins a step. The previous step's gradients are gone then.
  virtual void start_step(const Context& context);
  /// Returns the tensors to which a micro-batch's gradients of a unit are added, in UnitSpec::params
  /// order.
  std::vector<Tensor> unit_gradients(const Context& context, int unit, std::int64_t micro_batch);
  /// Marks a micro-batch's gradients of a unit as added.
  virtual void finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) = 0;
  /// Warm up the sums over the ranks of reduce() and then complete(), whatever was added.
  /// Afterwards the groups have connected the peers and allocated the memory for them. The sums are
  /// discarded, and a step begins after them. warm_up_reduce() waits for its sums. Call
  /// warm_up_complete() after warm_up_reduce() of all this rank's units.
  /// Collective: all ranks of a stage call them, for the same units in the same order.
  virtual void warm_up_reduce(const Context& context, int unit);
  void warm_up_complete(const Context& context);
  /// Starts the sum over the ranks of a unit's gradients. Whole gradients are those of all this rank's
  /// micro-batches. Sharded ones are those of the micro-batch that was just finished, or of none.
  /// Collective: all ranks call it for the same units in the same order.
  virtual void reduce(const Context& context, int unit) = 0;
  /// Waits for every sum that was started.
  virtual void wait_reductions(const Context& context) = 0;
  /// Finishes the sum of this end's gradients of the tied table over all ranks. Call it if another
  /// stage holds the table's other end. Returns this rank's shard of the sum, which stays until the
  /// next step begins.
  Tensor finish_tied(const Context& context);
  /// Returns, on the owner, the tensor in which the other end's shard arrives. Call it before
  /// complete().
  Tensor remote_tied_gradient();
  /// Ends the step's sums. Finishes as wait_reductions() does, sums over replicas and
  /// tensor-parallel ranks, then adds the sums of a tied group's holders, always in their order.
  /// All units must have been reduced.
  void complete(const Context& context);
  /// Returns this rank's shard of a group's gradient, once complete.
  Tensor shard(int group) const;

  /// Return the bytes that stay allocated, and the most that gradients and values that travel take in
  /// addition at one time.
  virtual std::size_t bytes() const;
  std::size_t peak_full_bytes() const { return pool_.peak_bytes(); }
  BufferPool& pool() { return pool_; }
  /// Returns a model of a step's buffers, which begins with the pool's spare ones.
  virtual std::unique_ptr<SimulatedGradients> simulated() const = 0;

 protected:
  /// One unit's gradient of a group, or the one of a tied table's end that another stage holds.
  struct Holder {
    Buffer shard_memory;      // set if the shard has memory of its own
    Tensor shard;             // this rank's shard of the sum
    Buffer wire;              // values that travel, if in another dtype
    bool is_reduced = false;  // shard holds something, or a sum into it has been started
    bool is_final = false;    // also summed over replicas and tensor-parallel ranks, or by another stage
    std::vector<comm::Work> works{};
  };
  /// Makes the holders of all groups. Only the tied table's other end has memory then.
  GradientStore(Device device, const LocalTable& local, const Precision& precision, const Groups& ranks);

  const LocalTable& local() const { return local_; }
  const Groups& ranks() const { return ranks_; }
  const Precision& precision() const { return precision_; }
  int num_groups() const { return static_cast<int>(groups_.size()); }
  std::int64_t numel(int group) const { return local_.group(group).numel; }
  const Range& owned_range(int group) const { return local_.group(group).owned_range; }
  Holder& holder_of(int group, int unit);

  Tensor flat(const Buffer& buffer, std::int64_t numel) const;
  void allocate_shard(Device device, int group, Holder& holder);
  Buffer acquire(std::int64_t numel, DType dtype);
  SimulatedPool simulated_pool() const { return pool_.simulated(); }
  void release(Buffer&& buffer) { pool_.release(std::move(buffer)); }
  /// Runs `body`, which starts or waits for an operation. Its time counts as communication; what is
  /// computed before and after it does not.
  template <class Body>
  void communicate(const Body& body) {
    ranks_.exposed_time().measure(body);
  }
  /// Returns `values` as they travel: themselves, or rounded into `wire`.
  Tensor cast_to_wire(const Context& context, const Tensor& values, Buffer& wire);
  /// Sets `target` to what arrived in `wire` from element `begin` on, if values were rounded into it.
  void cast_from_wire(const Context& context, Buffer& wire, std::int64_t begin, const Tensor& target);
  /// Waits for the works of a group's holders. Their shards arrive from element `begin` of the wire on.
  void finish_works(const Context& context, int group, std::int64_t begin);
  /// Cancels the works of all holders. Nothing touches their memory afterwards.
  void cancel_works();

 private:
  /// Returns the flat buffer to which a micro-batch's gradient of a unit's group is added.
  virtual Tensor full_gradient(const Context& context, int group, int unit, std::int64_t micro_batch) = 0;

  const std::string& name(int group) const;
  void wait_for(Holder& holder, const Context& context);
  void sum_over_replicas(const Context& context, int group);
  comm::Communicator& tensor_ranks(TensorSum over) const;
  void sum_over_tensor(const Context& context, int group);
  void finish_tensor(const Context& context, int group);
  void add_holders(const Context& context, int group);

  const LocalTable& local_;
  Precision precision_;
  const Groups& ranks_;
  /// The local holders of each group. The owner of a tied table whose other end is another stage's
  /// has that end, too, as the last.
  std::vector<std::vector<Holder>> groups_;
  BufferPool pool_;
  bool is_complete_ = false;
};

/// Creates the store for the table's layout: ShardedGradients if data-parallel ranks shard gradients (ZeRO
/// 2 and 3), else WholeGradients. Table, plan and groups must outlive the store.
std::unique_ptr<GradientStore> make_gradient_store(Device device, const LocalTable& local,
                                                   const Precision& precision, const LanePlan& plan,
                                                   const Groups& ranks);

}  // namespace dt::parallel
