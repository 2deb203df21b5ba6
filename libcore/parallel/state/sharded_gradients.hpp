#pragma once
// Holds sharded gradients: the ranks sum each micro-batch, and each rank keeps its shard of the sums.

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "parallel/state/gradient_store.hpp"

namespace dt::parallel {

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
