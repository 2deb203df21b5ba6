#include "parallel/validator.hpp"

#include "base/error.hpp"

namespace dt::parallel {

namespace {

/// Which actions have been done so far.
class Progress {
 public:
  Progress(int num_units, int first_micro_batch, int num_micro_batches)
      : num_units_(num_units), first_(first_micro_batch), num_micro_batches_(num_micro_batches) {
    done_.assign(
        static_cast<std::size_t>(num_kinds) * static_cast<std::size_t>(num_units * num_micro_batches), false);
    reduced_.assign(static_cast<std::size_t>(num_units), false);
    discarded_.assign(static_cast<std::size_t>(num_units * num_micro_batches), false);
  }

  void take(const Action& action) {
    DT_CHECK(!stepped_, "{} comes after the optimizer's step", to_string(action));
    switch (action.kind) {
      case ActionKind::forward:
        return take_forward(action);
      case ActionKind::backward_input:
        return take_backward_input(action);
      case ActionKind::backward_weight:
        return take_backward_weight(action);
      case ActionKind::discard:
        return take_discard(action);
      case ActionKind::recompute:
        return take_recompute(action);
      case ActionKind::reduce:
        return take_reduce(action);
      case ActionKind::control:
        for (int u = 0; u < num_units_; ++u) require(reduced_[index(u)], action, {ActionKind::reduce, u});
        require_new(!controlled_, action);
        controlled_ = true;
        return;
      case ActionKind::step:
        require(controlled_, action, {ActionKind::control});
        stepped_ = true;
        return;
    }
  }

  void finish() const { DT_CHECK(stepped_, "the list ends without the optimizer's step"); }

 private:
  static constexpr int num_kinds = 3;
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  std::vector<bool>::reference done(ActionKind kind, int unit, int micro_batch) {
    const int place = micro_batch - first_;
    DT_CHECK(unit >= 0 && unit < num_units_ && place >= 0 && place < num_micro_batches_,
             "unit {} or micro-batch {} does not exist", unit, micro_batch);
    return done_[index((static_cast<int>(kind) * num_units_ + unit) * num_micro_batches_ + place)];
  }
  static void require(bool condition, const Action& action, const Action& earlier) {
    DT_CHECK(condition, "{} comes before {}", to_string(action), to_string(earlier));
  }
  static void require_new(bool condition, const Action& action) {
    DT_CHECK(condition, "{} comes twice", to_string(action));
  }
  /// Marks an action done; it must not have been.
  void mark(const Action& action) {
    auto flag = done(action.kind, action.unit, action.micro_batch);
    require_new(!flag, action);
    flag = true;
  }
  void require_done(const Action& action, ActionKind kind, int unit) {
    require(done(kind, unit, action.micro_batch), action, {kind, unit, action.micro_batch});
  }

  std::vector<bool>::reference discarded(const Action& action) {
    return discarded_[index(action.unit * num_micro_batches_ + action.micro_batch - first_)];
  }
  /// A unit's gradients are summed in the order of micro-batches, which fixes the bits.
  void require_in_order(const Action& action) {
    if (const int before = action.micro_batch - 1; before >= first_) {
      require(done(action.kind, action.unit, before), action, {action.kind, action.unit, before});
    }
  }

  void take_forward(const Action& action) {
    if (action.unit > 0) require_done(action, ActionKind::forward, action.unit - 1);
    if (action.unit == num_units_ - 1) require_in_order(action);
    mark(action);
  }
  void take_discard(const Action& action) {
    require_done(action, ActionKind::forward, action.unit);
    DT_CHECK(action.unit > 0 && action.unit < num_units_ - 1, "{}: only blocks are computed again",
             to_string(action));
    DT_CHECK(!done(ActionKind::backward_input, action.unit, action.micro_batch) && !discarded(action),
             "{} has nothing to discard", to_string(action));
    discarded(action) = true;
  }
  void take_recompute(const Action& action) {
    require_done(action, ActionKind::forward, action.unit);
    DT_CHECK(discarded(action), "{} of what was not discarded", to_string(action));
    discarded(action) = false;
  }
  void take_backward_input(const Action& action) {
    require_done(action, ActionKind::forward, action.unit);
    if (action.unit + 1 < num_units_) require_done(action, ActionKind::backward_input, action.unit + 1);
    require(!discarded(action), action, {ActionKind::recompute, action.unit, action.micro_batch});
    mark(action);
  }
  void take_backward_weight(const Action& action) {
    require_done(action, ActionKind::backward_input, action.unit);
    require_in_order(action);
    mark(action);
  }
  void take_reduce(const Action& action) {
    DT_CHECK(action.unit >= 0 && action.unit < num_units_, "unit {} does not exist", action.unit);
    for (int m = first_; m < first_ + num_micro_batches_; ++m) {
      const Action last{ActionKind::backward_weight, action.unit, m};
      require(done(last.kind, last.unit, m), action, last);
    }
    require_new(!reduced_[index(action.unit)], action);
    reduced_[index(action.unit)] = true;
  }

  int num_units_;
  int first_;
  int num_micro_batches_;
  std::vector<bool> done_;
  std::vector<bool> reduced_;
  std::vector<bool> discarded_;
  bool controlled_ = false;
  bool stepped_ = false;
};

}  // namespace

void validate_training_step(const ActionList& list, int num_units, int first_micro_batch,
                            int num_micro_batches) {
  Progress progress(num_units, first_micro_batch, num_micro_batches);
  for (const Action& action : list) progress.take(action);
  progress.finish();
}

}  // namespace dt::parallel
