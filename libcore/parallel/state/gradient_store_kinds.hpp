#pragma once
// Holds sharded gradients: the ranks sum each micro-batch, and each rank keeps its shard of the sums.

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "parallel/state/gradient_store.hpp"

namespace dt::parallel {

// Holds whole gradients: each rank adds up its micro-batches, and the ranks sum once a step.

/// Gradients that data-parallel ranks do not shard. They are summed in lanes on this rank, then once over
/// the ranks. If the optimizer's state is sharded (ZeRO 1), each rank gets its shard of the sum.
class WholeGradients final : public GradientStore {
 public:
  WholeGradients(Device device, const LocalTable& local, const Precision& precision, const LanePlan& plan,
                 const Groups& ranks);
  /// Cancels the sums over the ranks that are under way, since their memory goes before the holders.
  ~WholeGradients() override { cancel_works(); }

  void start_step(const Context& context) override;
  void finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) override;
  void warm_up_reduce(const Context& context, int unit) override;
  void reduce(const Context& context, int unit) override;
  void wait_reductions(const Context& context) override;
  std::size_t bytes() const override;
  std::unique_ptr<SimulatedGradients> simulated() const override;

 private:
  Tensor full_gradient(const Context& context, int group, int unit, std::int64_t micro_batch) override;
  GradientSum& sum_of(int group, int unit) { return sums_.at({group, unit}); }
  void start_sum(const Context& context, int group, const Tensor& total, Holder& holder);

  std::map<std::pair<int, int>, GradientSum> sums_;  // over micro-batches, by group and unit
};

/// Gradients that data-parallel ranks shard (ZeRO 2 and 3). Each micro-batch's are summed over the ranks at
/// once, and this rank's shards of the sums are added up.
class ShardedGradients final : public GradientStore {
 public:
  ShardedGradients(Device device, const LocalTable& local, const Precision& precision, const Groups& ranks);

  void finish_micro_batch(const Context&, int, std::int64_t) override {}
  void reduce(const Context& context, int unit) override;
  void wait_reductions(const Context& context) override;
  std::unique_ptr<SimulatedGradients> simulated() const override;

 private:
  /// A micro-batch's sum over the ranks that is under way. The work ends before its buffers.
  struct Reduction {
    Holder* holder;
    int group;
    Buffer full;
    Buffer wire;   // the same, if another dtype travels
    Buffer shard;  // shard that arrives; empty if it arrives in the holder's own
    comm::Work work;
  };
  Tensor full_gradient(const Context& context, int group, int unit, std::int64_t micro_batch) override;
  Buffer take_full(const Context& context, int group, int unit);
  Reduction start_reduce_scatter(const Context& context, int group, int unit);
  void finish_all_but_newest(const Context& context);
  void finish_oldest(const Context& context);

  std::map<std::pair<int, int>, Buffer> fulls_;   // the current micro-batch's, by group and unit
  std::deque<std::vector<Reduction>> in_flight_;  // each of one unit and micro-batch
};

}  // namespace dt::parallel
