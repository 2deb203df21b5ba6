#include "parallel/builders.hpp"

#include <algorithm>

namespace dt::parallel {

namespace {

class Builder {
 public:
  explicit Builder(const StepShape& shape) : shape_(shape), last_unit_(shape.num_units - 1) {}

  /// Of the j-th micro-batch of every rank, which this rank may not have.
  void forward(int round, bool keeps_head) {
    const bool gathers = shape_.frees() || (shape_.gathers() && round == 0);
    if (gathers) add(ActionKind::gather, 0);
    for (int unit = 0; unit <= last_unit_; ++unit) {
      if (gathers && unit < last_unit_) add(ActionKind::gather, unit + 1);
      if (has(round)) {
        add(ActionKind::forward, unit, number(round));
        if (keeps_head && is_discarded(unit)) add(ActionKind::discard, unit, number(round));
      }
      if (shape_.frees() && !(keeps_head && unit == last_unit_)) add(ActionKind::free, unit);
    }
  }

  void backward(int round) {
    for (int unit = last_unit_; unit >= 0; --unit) {
      if (shape_.frees() && unit > 1) add(ActionKind::gather, unit - 1);
      if (has(round)) {
        if (is_discarded(unit)) add(ActionKind::recompute, unit, number(round));
        add(ActionKind::backward_input, unit, number(round));
      }
      if (shape_.frees() && unit > 0) add(ActionKind::free, unit);
      if (has(round)) add(ActionKind::backward_weight, unit, number(round));
      if (shape_.reduces_each_micro_batch()) {
        add(ActionKind::reduce, unit, has(round) ? number(round) : -1);
      } else if (round == rounds() - 1) {
        add(ActionKind::reduce, unit);
      }
    }
  }

  /// A rank that has nothing to do takes part in the rest once.
  int rounds() const {
    return shape_.reduces_each_micro_batch() ? std::max(1, shape_.rounds)
                                             : std::max(1, shape_.num_micro_batches);
  }
  ActionList take() { return std::move(list_); }
  void add(ActionKind kind, int unit = -1, int micro_batch = -1) {
    list_.push_back({kind, unit, micro_batch});
  }

 private:
  bool has(int round) const { return round < shape_.num_micro_batches; }
  int number(int round) const { return shape_.first_micro_batch + round; }
  bool is_discarded(int unit) const { return shape_.recompute && unit > 0 && unit < last_unit_ - 1; }

  const StepShape& shape_;
  int last_unit_;
  ActionList list_;
};

}  // namespace

ActionList build_training_step(const StepShape& shape) {
  Builder builder(shape);
  for (int round = 0; round < builder.rounds(); ++round) {
    builder.forward(round, true);
    builder.backward(round);
  }
  builder.add(ActionKind::control);
  builder.add(ActionKind::step);
  return builder.take();
}

ActionList build_evaluation(const StepShape& shape) {
  Builder builder(shape);
  const int rounds = shape.gathers() ? std::max(1, shape.rounds) : shape.num_micro_batches;
  for (int round = 0; round < rounds; ++round) builder.forward(round, false);
  return builder.take();
}

}  // namespace dt::parallel
