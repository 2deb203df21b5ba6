#include "parallel/validator.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "parallel/timeline.hpp"
#include "parallel/transfer_rules.hpp"

namespace dt::parallel {

namespace {

/// What a rank has done so far.
class Progress {
 public:
  Progress(const StepShape& shape, const Pipeline& pipeline, int rank)
      : transfers_(pipeline, rank),
        shape_(shape),
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
    DT_CHECK(!stepped_ || action.payload == Payload::tied_weights, "{} comes after the optimizer's step",
             to_string(action));
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
        return take_send(action);
      case ActionKind::receive:
        return take_receive(action);
      case ActionKind::control:
        return take_control(action);
      case ActionKind::step:
        require(controlled_, action, {ActionKind::control});
        stepped_ = true;
        return;
    }
  }

  void finish() const {
    DT_CHECK(stepped_, "the list ends without the optimizer's step");
    transfers_.check_end();
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
    DT_CHECK(transfers_.holds(action.unit), "{}: the unit is another rank's", to_string(action));
  }
  bool is_last(int unit) const { return unit == num_units_ - 1; }
  /// Whole gradients of one micro-batch are held where ranks divide them: those before must be summed.
  void require_reduced_before(const Action& action) const {
    if (!shape_.reduces_each_micro_batch()) return;
    require(reduced_[index(action.unit)] >= action.micro_batch - first_, action,
            {ActionKind::reduce, action.unit, action.micro_batch - 1});
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
    require_unit(action);
    if (action.unit > 0 && transfers_.holds(action.unit - 1))
      require_done(action, ActionKind::forward, action.unit - 1);
    else if (action.unit > 0)
      transfers_.use(action, Payload::activation, action.unit - 1);
    if (is_last(action.unit)) {
      require_in_order(action);
      require_reduced_before(action);
    }
    mark(action);
    require_whole(action);
  }
  void take_discard(const Action& action) {
    require_unit(action);
    require_done(action, ActionKind::forward, action.unit);
    DT_CHECK(action.unit > 0 && action.unit < num_units_ - 1, "{}: only blocks are computed again",
             to_string(action));
    DT_CHECK(!done(ActionKind::backward_input, action.unit, action.micro_batch) && !discarded(action),
             "{} has nothing to discard", to_string(action));
    discarded(action) = true;
  }
  void take_recompute(const Action& action) {
    require_unit(action);
    require_done(action, ActionKind::forward, action.unit);
    DT_CHECK(discarded(action), "{} of what was not discarded", to_string(action));
    require_whole(action);
    discarded(action) = false;
  }
  void take_backward_input(const Action& action) {
    require_unit(action);
    require_done(action, ActionKind::forward, action.unit);
    if (!is_last(action.unit) && transfers_.holds(action.unit + 1))
      require_done(action, ActionKind::backward_input, action.unit + 1);
    else if (!is_last(action.unit))
      transfers_.use(action, Payload::gradient, action.unit);
    require(!discarded(action), action, {ActionKind::recompute, action.unit, action.micro_batch});
    mark(action);
    if (action.unit > 0) require_whole(action);
  }
  void take_backward_weight(const Action& action) {
    require_unit(action);
    require_done(action, ActionKind::backward_input, action.unit);
    require_in_order(action);
    if (!is_last(action.unit)) require_reduced_before(action);
    mark(action);
  }
  void take_reduce(const Action& action) {
    require_unit(action);
    int& times = reduced_[index(action.unit)];
    require_new(times < reductions(), action);
    const int until =
        shape_.reduces_each_micro_batch() ? std::min(times + 1, num_micro_batches_) : num_micro_batches_;
    // The head's gradients are made in its forward.
    const bool is_early = shape_.reduces_each_micro_batch() && is_last(action.unit);
    const ActionKind makes = is_early ? ActionKind::forward : ActionKind::backward_weight;
    for (int m = first_; m < first_ + until; ++m) {
      const Action last{makes, action.unit, m};
      require(done(last.kind, last.unit, m), action, last);
    }
    const bool is_of_one = shape_.reduces_each_micro_batch() && times < num_micro_batches_;
    DT_CHECK(action.micro_batch == (is_of_one ? first_ + times : -1), "{} comes when it is the turn of {}",
             to_string(action),
             to_string({ActionKind::reduce, action.unit, is_of_one ? first_ + times : -1}));
    ++times;
  }

  void take_send(const Action& action) {
    const bool follows = transfers_.send(action);
    if (action.payload == Payload::activation) require_done(action, ActionKind::forward, action.unit);
    if (action.payload == Payload::gradient)
      require_done(action, ActionKind::backward_input, action.unit + 1);
    require_exchange(action);
    require_new(follows, action);
  }
  void take_receive(const Action& action) {
    const bool follows = transfers_.receive(action);
    require_exchange(action);
    require_new(follows, action);
  }
  /// The tied table's, either way, at its time.
  void require_exchange(const Action& action) {
    if (action.payload == Payload::tied_gradient) {
      DT_CHECK(!controlled_, "{} comes after control", to_string(action));
      if (action.kind == ActionKind::send)
        require(reduced_[index(action.unit)] == reductions(), action, {ActionKind::reduce, action.unit});
    }
    if (action.payload == Payload::tied_weights) require(stepped_, action, {ActionKind::step});
  }
  void take_control(const Action& action) {
    require_new(!controlled_, action);
    controlled_ = true;
    for (int u = 0; u < num_units_; ++u) {
      if (!transfers_.holds(u)) continue;
      require(reduced_[index(u)] == reductions(), action, {ActionKind::reduce, u});
      for (int m = first_; m < first_ + num_micro_batches_; ++m)
        require(done(ActionKind::backward_weight, u, m), action, {ActionKind::backward_weight, u, m});
    }
    transfers_.check_control();
  }

  TransferRules transfers_;
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
  Progress progress(shape, without_stages(shape.num_units, 1), 0);
  for (const Action& action : list) progress.take(action);
  progress.finish();
}

void validate_together(std::span<const ActionList> lists, int pp) {
  const int dp = static_cast<int>(lists.size()) / pp;
  // Who waits for whom does not hang on times; with what ranks do together waited for, nobody waits for less.
  walk_together(lists, dp, {.seconds = [](int, const Action&) { return 0.0; }, .overlaps = false});
}

void validate_training_steps(std::span<const ActionList> lists, std::span<const StepShape> shapes,
                             const Pipeline& pipeline) {
  const std::size_t dp = shapes.size();
  DT_CHECK(lists.size() == dp * static_cast<std::size_t>(pipeline.num_ranks()), "{} lists for {} ranks",
           lists.size(), dp * static_cast<std::size_t>(pipeline.num_ranks()));
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    Progress progress(shapes[rank % dp], pipeline, static_cast<int>(rank / dp));
    std::size_t number = 0;
    try {
      for (const Action& action : lists[rank]) {
        progress.take(action);
        ++number;
      }
      progress.finish();
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("rank {}, action {}: {}", rank, number, error.what()));
    }
  }
  validate_together(lists, pipeline.num_ranks());
}

}  // namespace dt::parallel
