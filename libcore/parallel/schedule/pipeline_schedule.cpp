#include "parallel/schedule/pipeline_schedule.hpp"

#include <algorithm>

namespace dt::parallel {

ComputationOrder one_f_one_b_order(std::span<const StageMicroBatch> forwards,
                                   std::span<const StageMicroBatch> backwards, std::size_t warm_up) {
  ComputationOrder order;
  std::size_t next = 0;
  const auto add_forward = [&] {
    if (next == forwards.size()) return;
    order.push_back({ActionKind::forward, forwards[next].stage, forwards[next].micro_batch});
    ++next;
  };
  while (next < std::min(warm_up, forwards.size())) add_forward();
  for (const StageMicroBatch& turn : backwards) {
    add_forward();
    order.push_back({ActionKind::backward_input, turn.stage, turn.micro_batch});
    order.push_back({ActionKind::backward_weight, turn.stage, turn.micro_batch});
  }
  return order;
}

PipelineSchedule forward_only(PipelineSchedule schedule) {
  for (ComputationOrder& order : schedule.orders)
    std::erase_if(order, [](const Computation& c) { return c.kind != ActionKind::forward; });
  return schedule;
}

}  // namespace dt::parallel
