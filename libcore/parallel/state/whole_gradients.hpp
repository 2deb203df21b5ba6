#pragma once
// Holds whole gradients: each rank adds up its micro-batches, and the ranks sum once a step.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "parallel/state/gradient_store.hpp"

namespace dt::parallel {

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

}  // namespace dt::parallel
