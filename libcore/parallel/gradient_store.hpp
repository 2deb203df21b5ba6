#pragma once
// Gradients of a step: summed over this rank's micro-batches and over the ranks, each holder of a group
// apart, then together.

#include <deque>
#include <optional>
#include <vector>

#include "parallel/buffer_pool.hpp"
#include "parallel/groups.hpp"
#include "parallel/lanes.hpp"
#include "parallel/local_table.hpp"
#include "parallel/precision.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Whole gradients are summed in lanes on this rank, then once over the ranks. Where gradients are divided,
/// each micro-batch's are summed over the ranks at once and this rank's part of the sum is added up: with one
/// micro-batch a rank that is the same sum, bit for bit. What tensor-parallel ranks have only parts of they
/// sum last, in the gradients' dtype. Groups are local ones, units have their global numbers;
/// Error{internal}: a unit that this rank does not hold.
class GradientStore {
 public:
  /// Table, plan and groups must outlive it.
  GradientStore(Device device, const LocalTable& local, const Precision& precision, const LanePlan& plan,
                const Groups& ranks);

  /// The number of micro-batches whose sums over the ranks may be under way while the next one computes.
  static constexpr std::size_t most_under_way = 1;
  /// Allocates the device memory in which the groups sum, before their first sums do.
  void take_memory_of_sums();
  /// Begins a step. The last one's gradients are gone then.
  void start_step(const Context& context);
  /// Where a micro-batch's gradients of a unit are to be added, in UnitSpec::params order.
  std::vector<Tensor> of_unit(const Context& context, int unit, std::int64_t micro_batch);
  /// Says that they have been added.
  void finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch);
  /// Instead of reduce: what was added goes nowhere, and memory that was taken for it is given back. A step
  /// begins after it.
  void forget_micro_batch(int unit);
  /// Starts the sum over the ranks, who all call it for the same units in the same order: of all this rank's
  /// micro-batches, or, where gradients are divided, of the one that was just finished or of none.
  void reduce(const Context& context, int unit);
  /// Waits for every sum that was started.
  void finish_started(const Context& context);
  /// Where the other end of the tied table is another stage's. There: finishes the sum of this end's
  /// gradients over all ranks; this rank's part of it, which stays until the next step begins.
  Tensor finish_tied(const Context& context);
  /// At the owner: where that arrives, before complete().
  Tensor other_end();
  /// The same as finish_started(), at the step's end. The sums of a tied group's holders then meet, always in
  /// their order. All units must have been reduced.
  void complete(const Context& context);
  /// This rank's part of a group's gradient, once complete.
  Tensor part(int group) const;

  /// Of what stays, and of whole gradients beside it (the most at one time).
  std::size_t bytes() const;
  BufferPool& pool() { return pool_; }
  std::size_t most_gathered_bytes() const { return pool_.most_in_use_bytes(); }

 private:
  struct Holder {
    std::optional<GradientSum> sum;  // where gradients are whole
    Buffer part;                     // where they are divided: this rank's part of the sum so far
    Buffer whole;                    // and the micro-batch in work
    bool has_sum = false;            // part holds something
    bool is_reduced = false;
    bool is_final = false;  // replicas and tensor-parallel ranks have summed it, too, or another stage has
    Buffer wire;            // what travels, where that is of another dtype
    std::vector<comm::Work> works{};
  };
  /// A micro-batch's sum over the ranks that is under way.
  struct Reduction {
    Holder* holder;
    int group;
    Buffer whole;
    Buffer wire;  // the same, where another dtype travels
    Buffer part;  // where it arrives; empty where that is the holder's own
    comm::Work work;
  };
  Tensor flat(const Buffer& buffer, std::int64_t numel) const;
  std::int64_t numel(int group) const { return local_.group(group).numel; }
  const Part& own(int group) const { return local_.group(group).own; }
  const Division& division(int group) const { return local_.group(group).division; }
  const std::string& name(int group) const;
  Tensor part_of(int group, const Holder& holder) const;
  Holder& holder_of(int group, int unit);
  Buffer take(std::int64_t numel, DType dtype);
  template <class Body>
  void communicate(const Body& body);
  void wait_for(Holder& holder, const Context& context);
  void reduce_whole(const Context& context, int group, Holder& holder);
  Reduction start_divided(const Context& context, int group, Holder& holder);
  /// `values` as they travel: themselves, or rounded into `wire`.
  Tensor narrowed(const Context& context, const Tensor& values, Buffer& wire);
  /// target = what arrived in `wire` from element `begin` on, where something was rounded into it.
  void widen(const Context& context, Buffer& wire, std::int64_t begin, const Tensor& target);
  void settle_oldest(const Context& context);
  void sum_over_replicas(const Context& context, int group);
  void settle_replicas(const Context& context, int group);
  comm::Communicator& tensor_ranks(TensorSum over) const;
  void sum_over_tensor(const Context& context, int group);
  void settle_tensor(const Context& context, int group);
  void add_holders(const Context& context, int group);

  const LocalTable& local_;
  DType dtype_;
  DType wire_;
  const Groups& ranks_;
  /// Of each group, its local holders; of a tied table's owner whose other end is another stage's, that, too.
  std::vector<std::vector<Holder>> groups_;
  std::deque<std::vector<Reduction>> under_way_;
  BufferPool pool_;
  bool is_complete_ = false;
};

}  // namespace dt::parallel
