#pragma once
// Holds the gradients of a step. The store sums them over this rank's micro-batches and over the
// ranks, separately for each holder of a group, and then adds the holders' sums.

#include <deque>
#include <optional>
#include <vector>

#include "parallel/state/buffer_pool.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/groups.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/precision.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// The gradients of a step. Groups are local ones, units have their global numbers. Whole gradients
/// are summed in lanes on this rank, then once over the ranks. If gradients are divided, each
/// micro-batch's are summed over the ranks at once, and this rank's part of the sum is added up.
/// Both sums are bit-identical for one micro-batch a rank. Last, tensor-parallel ranks sum
/// the gradients of which they have only parts, in the gradients' dtype.
/// Errors: internal, this rank does not hold the unit.
class GradientStore {
 public:
  /// Table, plan and groups must outlive the store.
  GradientStore(Device device, const LocalTable& local, const Precision& precision, const LanePlan& plan,
                const Groups& ranks);

  /// The number of micro-batches whose sums over the ranks may be under way while the next one computes.
  static constexpr std::size_t max_reductions_in_flight = 1;
  /// Begins a step. The previous step's gradients are gone then.
  void start_step(const Context& context);
  /// Returns the tensors to which a micro-batch's gradients of a unit are added, in UnitSpec::params
  /// order.
  std::vector<Tensor> unit_gradients(const Context& context, int unit, std::int64_t micro_batch);
  /// Marks a micro-batch's gradients of a unit as added.
  void finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch);
  /// Rehearse the sums over the ranks of reduce() and then complete(), whatever was added.
  /// Afterwards the groups have connected the peers and allocated the memory for them. The sums are
  /// discarded, and a step begins after them. warm_up_reduce() waits for its sums. Call
  /// warm_up_complete() after warm_up_reduce() of all this rank's units.
  /// Collective: all ranks of a stage call them, for the same units in the same order.
  void warm_up_reduce(const Context& context, int unit);
  void warm_up_complete(const Context& context);
  /// Starts the sum over the ranks of a unit's gradients, which are those of all this rank's
  /// micro-batches. If gradients are divided, they are those of the micro-batch that was just
  /// finished, or of none.
  /// Collective: all ranks call it for the same units in the same order.
  void reduce(const Context& context, int unit);
  /// Waits for every sum that was started.
  void wait_reductions(const Context& context);
  /// Finishes the sum of this end's gradients of the tied table over all ranks. Call it if another
  /// stage holds the table's other end. Returns this rank's part of the sum, which stays until the
  /// next step begins.
  Tensor finish_tied(const Context& context);
  /// Returns, on the owner, the tensor in which the other end's part arrives. Call it before
  /// complete().
  Tensor remote_tied_gradient();
  /// Ends the step's sums. Finishes as wait_reductions() does, sums over replicas and
  /// tensor-parallel ranks, then adds the sums of a tied group's holders, always in their order.
  /// All units must have been reduced.
  void complete(const Context& context);
  /// Returns this rank's part of a group's gradient, once complete.
  Tensor shard(int group) const;

  /// Return the bytes that stay allocated, and the most that whole gradients take in addition at
  /// one time.
  std::size_t bytes() const;
  BufferPool& pool() { return pool_; }
  std::size_t peak_full_bytes() const { return pool_.peak_bytes(); }

 private:
  struct Holder {
    std::optional<GradientSum> sum;  // set if gradients are whole
    Buffer shard;                    // if they are divided: this rank's part of the sum so far
    Buffer full;                     // and the current micro-batch's gradient
    bool has_sum = false;            // part holds something
    bool is_reduced = false;
    bool is_final = false;  // also summed over replicas and tensor-parallel ranks, or by another stage
    Buffer wire;            // values that travel, if in another dtype
    std::vector<comm::Work> works{};
  };
  /// A micro-batch's sum over the ranks that is under way.
  struct Reduction {
    Holder* holder;
    int group;
    Buffer full;
    Buffer wire;   // the same, if another dtype travels
    Buffer shard;  // part that arrives; empty if it arrives in the holder's own
    comm::Work work;
  };
  Tensor flat(const Buffer& buffer, std::int64_t numel) const;
  std::int64_t numel(int group) const { return local_.group(group).numel; }
  const Range& owned_range(int group) const { return local_.group(group).owned_range; }
  const ZeroSharding& sharding(int group) const { return local_.group(group).sharding; }
  const std::string& name(int group) const;
  Tensor shard_of(int group, const Holder& holder) const;
  Holder& holder_of(int group, int unit);
  Buffer acquire(std::int64_t numel, DType dtype);
  template <class Body>
  void communicate(const Body& body);
  void wait_for(Holder& holder, const Context& context);
  void all_reduce_full(const Context& context, int group, Holder& holder);
  Reduction start_reduce_scatter(const Context& context, int group, Holder& holder);
  /// Returns `values` as they travel: themselves, or rounded into `wire`.
  Tensor cast_to_wire(const Context& context, const Tensor& values, Buffer& wire);
  /// Sets `target` to what arrived in `wire` from element `begin` on, if values were rounded into it.
  void cast_from_wire(const Context& context, Buffer& wire, std::int64_t begin, const Tensor& target);
  void finish_oldest(const Context& context);
  void sum_over_replicas(const Context& context, int group);
  void finish_replicas(const Context& context, int group);
  comm::Communicator& tensor_ranks(TensorSum over) const;
  void sum_over_tensor(const Context& context, int group);
  void finish_tensor(const Context& context, int group);
  void add_holders(const Context& context, int group);

  const LocalTable& local_;
  DType dtype_;
  DType wire_;
  const Groups& ranks_;
  /// The local holders of each group. The owner of a tied table whose other end is another stage's
  /// has that end, too.
  std::vector<std::vector<Holder>> groups_;
  std::deque<std::vector<Reduction>> in_flight_;
  BufferPool pool_;
  bool is_complete_ = false;
};

}  // namespace dt::parallel
