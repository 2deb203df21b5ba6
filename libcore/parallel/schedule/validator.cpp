#include "parallel/schedule/validator.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/timeline.hpp"
#include "parallel/schedule/transfer_validator.hpp"

namespace dt::parallel {

namespace {

/// Checks a rank's actions in turn by the rules that its list must keep, and records what the rank has done
/// so far.
/// Errors: internal, naming the first action that is out of order.
class RankValidator {
 public:
  RankValidator(const StepShape& shape, const Pipeline& pipeline, int rank);

  void check(const Action& action);

  void check_end() const;

 private:
  static constexpr int num_kinds = 3;

  std::vector<bool>::reference done(ActionKind kind, int unit, int micro_batch);
  static void require(bool condition, const Action& action, const Action& earlier);
  static void require_new(bool condition, const Action& action);
  /// Marks an action done. It must not be done already.
  void mark_done(const Action& action);
  void require_done(const Action& action, ActionKind kind, int unit);

  std::vector<bool>::reference discarded(const Action& action);
  /// Requires the order of micro-batches, in which a unit's gradients are summed. The order fixes
  /// the bits.
  void require_in_order(const Action& action);

  /// Returns the number of reductions of each unit.
  int reductions() const {
    return shape_.reduces_each_micro_batch() ? std::max(1, shape_.max_micro_batches) : 1;
  }
  void require_gathered(const Action& action);
  void require_unit(const Action& action) const;
  bool is_last(int unit) const { return unit == num_units_ - 1; }
  /// Requires that earlier micro-batches are summed: if ranks divide gradients, whole ones of only
  /// one micro-batch are held.
  void require_reduced_before(const Action& action) const;

  void check_gather(const Action& action);
  void check_free(const Action& action);

  void check_forward(const Action& action);
  void check_discard(const Action& action);
  void check_recompute(const Action& action);
  void check_backward_input(const Action& action);
  void check_backward_weight(const Action& action);
  void check_reduce(const Action& action);

  void check_send(const Action& action);
  void check_receive(const Action& action);
  /// Checks that an exchange of the tied table, in either direction, comes at its time.
  void require_exchange(const Action& action);
  void check_control(const Action& action);

  TransferValidator transfers_;
  const StepShape shape_;
  int num_units_;
  int first_;
  int num_micro_batches_;
  std::vector<bool> done_;
  std::vector<bool> discarded_;
  std::vector<int> reduced_;  // number of reduces, by unit
  std::vector<bool> gathered_;
  bool controlled_ = false;
  bool stepped_ = false;
};

RankValidator::RankValidator(const StepShape& shape, const Pipeline& pipeline, int rank)
    : transfers_(pipeline, rank),
      shape_(shape),
      num_units_(shape.num_units),
      first_(shape.first_micro_batch),
      num_micro_batches_(shape.num_micro_batches) {
  const std::size_t places = to_index(num_units_ * num_micro_batches_);
  done_.assign(to_index(num_kinds) * places, false);
  discarded_.assign(places, false);
  reduced_.assign(to_index(num_units_), 0);
  gathered_.assign(to_index(num_units_), !shape.gathers_weights());
}

void RankValidator::check(const Action& action) {
  DT_CHECK(!stepped_ || action.payload == Payload::tied_weights, "{} comes after the optimizer's step",
           to_string(action));
  switch (action.kind) {
    case ActionKind::forward:
      return check_forward(action);
    case ActionKind::backward_input:
      return check_backward_input(action);
    case ActionKind::backward_weight:
      return check_backward_weight(action);
    case ActionKind::discard:
      return check_discard(action);
    case ActionKind::recompute:
      return check_recompute(action);
    case ActionKind::gather:
      return check_gather(action);
    case ActionKind::free:
      return check_free(action);
    case ActionKind::reduce:
      return check_reduce(action);
    case ActionKind::send:
      return check_send(action);
    case ActionKind::receive:
      return check_receive(action);
    case ActionKind::control:
      return check_control(action);
    case ActionKind::step:
      require(controlled_, action, {ActionKind::control});
      stepped_ = true;
      return;
  }
}

void RankValidator::check_end() const {
  DT_CHECK(stepped_, "the list ends without the optimizer's step");
  transfers_.check_end();
  for (int u = 0; u < num_units_ && shape_.frees_weights(); ++u)
    DT_CHECK(!gathered_[to_index(u)], "the list ends without {}", to_string({ActionKind::free, u}));
}

std::vector<bool>::reference RankValidator::done(ActionKind kind, int unit, int micro_batch) {
  const int place = micro_batch - first_;
  DT_CHECK(unit >= 0 && unit < num_units_ && place >= 0 && place < num_micro_batches_,
           "unit {} or micro-batch {} does not exist", unit, micro_batch);
  return done_[to_index((static_cast<int>(kind) * num_units_ + unit) * num_micro_batches_ + place)];
}

void RankValidator::require(bool condition, const Action& action, const Action& earlier) {
  DT_CHECK(condition, "{} comes before {}", to_string(action), to_string(earlier));
}

void RankValidator::require_new(bool condition, const Action& action) {
  DT_CHECK(condition, "{} comes twice", to_string(action));
}

void RankValidator::mark_done(const Action& action) {
  auto flag = done(action.kind, action.unit, action.micro_batch);
  require_new(!flag, action);
  flag = true;
}

void RankValidator::require_done(const Action& action, ActionKind kind, int unit) {
  require(done(kind, unit, action.micro_batch), action, {kind, unit, action.micro_batch});
}

std::vector<bool>::reference RankValidator::discarded(const Action& action) {
  return discarded_[to_index(action.unit * num_micro_batches_ + action.micro_batch - first_)];
}

void RankValidator::require_in_order(const Action& action) {
  if (const int before = action.micro_batch - 1; before >= first_) {
    require(done(action.kind, action.unit, before), action, {action.kind, action.unit, before});
  }
}

void RankValidator::require_gathered(const Action& action) {
  require(gathered_[to_index(action.unit)], action, {ActionKind::gather, action.unit});
}

void RankValidator::require_unit(const Action& action) const {
  DT_CHECK(action.unit >= 0 && action.unit < num_units_, "unit {} does not exist", action.unit);
  DT_CHECK(transfers_.holds(action.unit), "{}: another rank has the unit", to_string(action));
}

void RankValidator::require_reduced_before(const Action& action) const {
  if (!shape_.reduces_each_micro_batch()) return;
  require(reduced_[to_index(action.unit)] >= action.micro_batch - first_, action,
          {ActionKind::reduce, action.unit, action.micro_batch - 1});
}

void RankValidator::check_gather(const Action& action) {
  require_unit(action);
  DT_CHECK(!gathered_[to_index(action.unit)], "{}: the unit is already gathered", to_string(action));
  gathered_[to_index(action.unit)] = true;
  DT_CHECK(!shape_.frees_weights() || std::count(gathered_.begin(), gathered_.end(), true) <= 2,
           "{}: more than two units are gathered at once", to_string(action));
}

void RankValidator::check_free(const Action& action) {
  require_unit(action);
  DT_CHECK(shape_.frees_weights() && gathered_[to_index(action.unit)], "{}: the unit is not gathered",
           to_string(action));
  gathered_[to_index(action.unit)] = false;
}

void RankValidator::check_forward(const Action& action) {
  require_unit(action);
  if (action.unit > 0 && transfers_.holds(action.unit - 1))
    require_done(action, ActionKind::forward, action.unit - 1);
  else if (action.unit > 0)
    transfers_.record_use(action, Payload::activation, action.unit - 1);
  if (is_last(action.unit)) {
    require_in_order(action);
    require_reduced_before(action);
  }
  mark_done(action);
  require_gathered(action);
}

void RankValidator::check_discard(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::forward, action.unit);
  DT_CHECK(action.unit > 0 && action.unit < num_units_ - 1, "{}: only blocks are recomputed",
           to_string(action));
  DT_CHECK(!done(ActionKind::backward_input, action.unit, action.micro_batch) && !discarded(action),
           "{} has nothing to discard", to_string(action));
  discarded(action) = true;
}

void RankValidator::check_recompute(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::forward, action.unit);
  DT_CHECK(discarded(action), "{}: the unit is not discarded", to_string(action));
  require_gathered(action);
  discarded(action) = false;
}

void RankValidator::check_backward_input(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::forward, action.unit);
  if (!is_last(action.unit) && transfers_.holds(action.unit + 1))
    require_done(action, ActionKind::backward_input, action.unit + 1);
  else if (!is_last(action.unit))
    transfers_.record_use(action, Payload::gradient, action.unit);
  require(!discarded(action), action, {ActionKind::recompute, action.unit, action.micro_batch});
  mark_done(action);
  if (action.unit > 0) require_gathered(action);
}

void RankValidator::check_backward_weight(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::backward_input, action.unit);
  require_in_order(action);
  if (!is_last(action.unit)) require_reduced_before(action);
  mark_done(action);
}

void RankValidator::check_reduce(const Action& action) {
  require_unit(action);
  int& times = reduced_[to_index(action.unit)];
  require_new(times < reductions(), action);
  const int until =
      shape_.reduces_each_micro_batch() ? std::min(times + 1, num_micro_batches_) : num_micro_batches_;
  // The head makes its gradients in its forward.
  const bool is_early = shape_.reduces_each_micro_batch() && is_last(action.unit);
  const ActionKind makes = is_early ? ActionKind::forward : ActionKind::backward_weight;
  for (int m = first_; m < first_ + until; ++m) {
    const Action last{makes, action.unit, m};
    require(done(last.kind, last.unit, m), action, last);
  }
  const bool is_of_one = shape_.reduces_each_micro_batch() && times < num_micro_batches_;
  DT_CHECK(action.micro_batch == (is_of_one ? first_ + times : -1), "{} comes when it is the turn of {}",
           to_string(action), to_string({ActionKind::reduce, action.unit, is_of_one ? first_ + times : -1}));
  ++times;
}

void RankValidator::check_send(const Action& action) {
  const bool is_new = transfers_.send(action);
  if (action.payload == Payload::activation) require_done(action, ActionKind::forward, action.unit);
  if (action.payload == Payload::gradient) require_done(action, ActionKind::backward_input, action.unit + 1);
  require_exchange(action);
  require_new(is_new, action);
}

void RankValidator::check_receive(const Action& action) {
  const bool is_new = transfers_.receive(action);
  require_exchange(action);
  require_new(is_new, action);
}

void RankValidator::require_exchange(const Action& action) {
  if (action.payload == Payload::tied_gradient) {
    DT_CHECK(!controlled_, "{} comes after control", to_string(action));
    if (action.kind == ActionKind::send)
      require(reduced_[to_index(action.unit)] == reductions(), action, {ActionKind::reduce, action.unit});
  }
  if (action.payload == Payload::tied_weights) require(stepped_, action, {ActionKind::step});
}

void RankValidator::check_control(const Action& action) {
  require_new(!controlled_, action);
  controlled_ = true;
  for (int u = 0; u < num_units_; ++u) {
    if (!transfers_.holds(u)) continue;
    require(reduced_[to_index(u)] == reductions(), action, {ActionKind::reduce, u});
    for (int m = first_; m < first_ + num_micro_batches_; ++m)
      require(done(ActionKind::backward_weight, u, m), action, {ActionKind::backward_weight, u, m});
  }
  transfers_.check_control();
}

}  // namespace

void validate_no_deadlock(std::span<const ActionList> lists, int pp) {
  const int dp = static_cast<int>(lists.size()) / pp;
  // Waits between ranks do not depend on times. Without overlap, no rank waits for less.
  simulate_timeline(lists, dp, {.seconds = [](int, const Action&) { return 0.0; }, .overlaps = false});
}

void validate_training_steps(std::span<const ActionList> lists, std::span<const StepShape> shapes,
                             const Pipeline& pipeline) {
  const std::size_t dp = shapes.size();
  DT_CHECK(lists.size() == dp * static_cast<std::size_t>(pipeline.num_ranks()), "{} lists for {} ranks",
           lists.size(), dp * static_cast<std::size_t>(pipeline.num_ranks()));
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    RankValidator rules(shapes[rank % dp], pipeline, static_cast<int>(rank / dp));
    std::size_t number = 0;
    try {
      for (const Action& action : lists[rank]) {
        rules.check(action);
        ++number;
      }
      rules.check_end();
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("rank {}, action {}: {}", rank, number, error.what()));
    }
  }
  validate_no_deadlock(lists, pipeline.num_ranks());
}

}  // namespace dt::parallel
