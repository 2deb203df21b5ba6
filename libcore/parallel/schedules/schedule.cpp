#include "parallel/schedules/schedule.hpp"

#include <algorithm>

namespace dt::parallel {

Order in_turns(std::span<const Turn> forwards, std::span<const Turn> backwards, std::size_t warm_up) {
  Order order;
  std::size_t next = 0;
  const auto add_forward = [&] {
    if (next == forwards.size()) return;
    order.push_back({ActionKind::forward, forwards[next].stage, forwards[next].micro_batch});
    ++next;
  };
  while (next < std::min(warm_up, forwards.size())) add_forward();
  for (const Turn& turn : backwards) {
    add_forward();
    order.push_back({ActionKind::backward_input, turn.stage, turn.micro_batch});
    order.push_back({ActionKind::backward_weight, turn.stage, turn.micro_batch});
  }
  return order;
}

Schedule forwards_of(Schedule schedule) {
  for (Order& order : schedule.orders)
    std::erase_if(order, [](const Computation& c) { return c.kind != ActionKind::forward; });
  return schedule;
}

}  // namespace dt::parallel
