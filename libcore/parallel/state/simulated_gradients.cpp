#include "parallel/state/simulated_gradients.hpp"

namespace dt::parallel {

void SimulatedGradients::finish(std::optional<int> group) {
  wait_reductions();
  if (!has_replicas_) return;
  for (int number = 0; number < static_cast<int>(local_.groups().size()); ++number) {
    const LocalGroup& spec = local_.group(number);
    if ((group && *group != number) || !spec.sharding.shards_optimizer() || is_final_.contains(number))
      continue;
    for (std::size_t holder = 0; holder < spec.holders.size(); ++holder) hold_wire(spec.owned_range.count);
  }
  release_wires();
  if (group) is_final_.insert(*group);
}

}  // namespace dt::parallel
