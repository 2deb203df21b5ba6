#include "parallel/validator.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::parallel {

namespace {

/// Which actions have been done so far.
class Progress {
 public:
  explicit Progress(const StepShape& shape)
      : shape_(shape),
        num_units_(shape.num_units),
        first_(shape.first_micro_batch),
        num_micro_batches_(shape.num_micro_batches) {
    const std::size_t places = index(num_units_ * num_micro_batches_);
    done_.assign(index(num_kinds) * places, false);
    discarded_.assign(places, false);
    reduced_.assign(index(num_units_), 0);
    whole_.assign(index(num_units_), !shape.gathers());
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
      case ActionKind::gather:
        return take_gather(action);
      case ActionKind::free:
        return take_free(action);
      case ActionKind::reduce:
        return take_reduce(action);
      case ActionKind::send:
      case ActionKind::receive:
        DT_CHECK(false, "{} by a rank that has no neighbours", to_string(action));
        return;
      case ActionKind::control:
        for (int u = 0; u < num_units_; ++u)
          require(reduced_[index(u)] == reductions(), action, {ActionKind::reduce, u});
        require_new(!controlled_, action);
        controlled_ = true;
        return;
      case ActionKind::step:
        require(controlled_, action, {ActionKind::control});
        stepped_ = true;
        return;
    }
  }

  void finish() const {
    DT_CHECK(stepped_, "the list ends without the optimizer's step");
    for (int u = 0; u < num_units_ && shape_.frees(); ++u)
      DT_CHECK(!whole_[index(u)], "the list ends without {}", to_string({ActionKind::free, u}));
  }

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

  /// Of each unit.
  int reductions() const { return shape_.reduces_each_micro_batch() ? std::max(1, shape_.rounds) : 1; }
  void require_whole(const Action& action) {
    require(whole_[index(action.unit)], action, {ActionKind::gather, action.unit});
  }
  void require_unit(const Action& action) const {
    DT_CHECK(action.unit >= 0 && action.unit < num_units_, "unit {} does not exist", action.unit);
  }

  void take_gather(const Action& action) {
    require_unit(action);
    DT_CHECK(!whole_[index(action.unit)], "{} of what is whole", to_string(action));
    whole_[index(action.unit)] = true;
    DT_CHECK(!shape_.frees() || std::count(whole_.begin(), whole_.end(), true) <= 2,
             "{} makes more than two units whole", to_string(action));
  }
  void take_free(const Action& action) {
    require_unit(action);
    DT_CHECK(shape_.frees() && whole_[index(action.unit)], "{} of what was not gathered", to_string(action));
    whole_[index(action.unit)] = false;
  }

  void take_forward(const Action& action) {
    if (action.unit > 0) require_done(action, ActionKind::forward, action.unit - 1);
    if (action.unit == num_units_ - 1) require_in_order(action);
    mark(action);
    require_whole(action);
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
    require_whole(action);
    discarded(action) = false;
  }
  void take_backward_input(const Action& action) {
    require_done(action, ActionKind::forward, action.unit);
    if (action.unit + 1 < num_units_) require_done(action, ActionKind::backward_input, action.unit + 1);
    require(!discarded(action), action, {ActionKind::recompute, action.unit, action.micro_batch});
    mark(action);
    if (action.unit > 0) require_whole(action);
  }
  void take_backward_weight(const Action& action) {
    require_done(action, ActionKind::backward_input, action.unit);
    require_in_order(action);
    mark(action);
  }
  void take_reduce(const Action& action) {
    require_unit(action);
    int& times = reduced_[index(action.unit)];
    require_new(times < reductions(), action);
    const int until =
        shape_.reduces_each_micro_batch() ? std::min(times + 1, num_micro_batches_) : num_micro_batches_;
    for (int m = first_; m < first_ + until; ++m) {
      const Action last{ActionKind::backward_weight, action.unit, m};
      require(done(last.kind, last.unit, m), action, last);
    }
    const bool is_of_one = shape_.reduces_each_micro_batch() && times < num_micro_batches_;
    DT_CHECK(action.micro_batch == (is_of_one ? first_ + times : -1), "{} comes when it is the turn of {}",
             to_string(action),
             to_string({ActionKind::reduce, action.unit, is_of_one ? first_ + times : -1}));
    ++times;
  }

  const StepShape shape_;
  int num_units_;
  int first_;
  int num_micro_batches_;
  std::vector<bool> done_;
  std::vector<bool> discarded_;
  std::vector<int> reduced_;  // how often
  std::vector<bool> whole_;
  bool controlled_ = false;
  bool stepped_ = false;
};

}  // namespace

void validate_training_step(const ActionList& list, const StepShape& shape) {
  Progress progress(shape);
  for (const Action& action : list) progress.take(action);
  progress.finish();
}

void validate_together(std::span<const ActionList> lists) {
  const auto shared = [](const ActionList& list) {
    ActionList actions;
    for (const Action& action : list) {
      const bool is_shared = action.kind == ActionKind::gather || action.kind == ActionKind::reduce ||
                             action.kind == ActionKind::control;
      if (is_shared) actions.push_back({action.kind, action.unit});
    }
    return actions;
  };
  for (std::size_t rank = 1; rank < lists.size(); ++rank) {
    const ActionList first = shared(lists[0]), other = shared(lists[rank]);
    const auto [a, b] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
    if (a == first.end() && b == other.end()) continue;
    const auto name = [](auto at, auto end) { return at == end ? "nothing" : to_string(*at); };
    DT_CHECK(false, "rank 0 does {} where rank {} does {}", name(a, first.end()), rank, name(b, other.end()));
  }
}

}  // namespace dt::parallel
