#include "parallel/builders.hpp"

namespace dt::parallel {

ActionList build_training_step(int num_units, int first_micro_batch, int num_micro_batches, bool recompute) {
  ActionList list;
  const int last = first_micro_batch + num_micro_batches - 1;
  for (int m = first_micro_batch; m <= last; ++m) {
    const auto is_discarded = [&](int u) { return recompute && u > 0 && u < num_units - 2; };
    for (int u = 0; u < num_units; ++u) {
      list.push_back({ActionKind::forward, u, m});
      if (is_discarded(u)) list.push_back({ActionKind::discard, u, m});
    }
    for (int u = num_units - 1; u >= 0; --u) {
      if (is_discarded(u)) list.push_back({ActionKind::recompute, u, m});
      list.push_back({ActionKind::backward_input, u, m});
      list.push_back({ActionKind::backward_weight, u, m});
      if (m == last) list.push_back({ActionKind::reduce, u});
    }
  }
  if (num_micro_batches == 0) {
    for (int u = num_units - 1; u >= 0; --u) list.push_back({ActionKind::reduce, u});
  }
  list.push_back({ActionKind::control});
  list.push_back({ActionKind::step});
  return list;
}

ActionList build_evaluation(int num_units, int num_micro_batches) {
  ActionList list;
  for (int m = 0; m < num_micro_batches; ++m) {
    for (int u = 0; u < num_units; ++u) list.push_back({ActionKind::forward, u, m});
  }
  return list;
}

}  // namespace dt::parallel
