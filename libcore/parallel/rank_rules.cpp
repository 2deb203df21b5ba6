#include "parallel/rank_rules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "parallel/index.hpp"

namespace dt::parallel {

RankRules::RankRules(const StepShape& shape, const Pipeline& pipeline, int rank)
    : transfers_(pipeline, rank),
      shape_(shape),
      num_units_(shape.num_units),
      first_(shape.first_micro_batch),
      num_micro_batches_(shape.num_micro_batches) {
  const std::size_t places = at(num_units_ * num_micro_batches_);
  done_.assign(at(num_kinds) * places, false);
  discarded_.assign(places, false);
  reduced_.assign(at(num_units_), 0);
  whole_.assign(at(num_units_), !shape.gathers());
}

void RankRules::take(const Action& action) {
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

void RankRules::finish() const {
  DT_CHECK(stepped_, "the list ends without the optimizer's step");
  transfers_.check_end();
  for (int u = 0; u < num_units_ && shape_.frees(); ++u)
    DT_CHECK(!whole_[at(u)], "the list ends without {}", to_string({ActionKind::free, u}));
}

std::vector<bool>::reference RankRules::done(ActionKind kind, int unit, int micro_batch) {
  const int place = micro_batch - first_;
  DT_CHECK(unit >= 0 && unit < num_units_ && place >= 0 && place < num_micro_batches_,
           "unit {} or micro-batch {} does not exist", unit, micro_batch);
  return done_[at((static_cast<int>(kind) * num_units_ + unit) * num_micro_batches_ + place)];
}

void RankRules::require(bool condition, const Action& action, const Action& earlier) {
  DT_CHECK(condition, "{} comes before {}", to_string(action), to_string(earlier));
}

void RankRules::require_new(bool condition, const Action& action) {
  DT_CHECK(condition, "{} comes twice", to_string(action));
}

void RankRules::mark(const Action& action) {
  auto flag = done(action.kind, action.unit, action.micro_batch);
  require_new(!flag, action);
  flag = true;
}

void RankRules::require_done(const Action& action, ActionKind kind, int unit) {
  require(done(kind, unit, action.micro_batch), action, {kind, unit, action.micro_batch});
}

std::vector<bool>::reference RankRules::discarded(const Action& action) {
  return discarded_[at(action.unit * num_micro_batches_ + action.micro_batch - first_)];
}

void RankRules::require_in_order(const Action& action) {
  if (const int before = action.micro_batch - 1; before >= first_) {
    require(done(action.kind, action.unit, before), action, {action.kind, action.unit, before});
  }
}

void RankRules::require_whole(const Action& action) {
  require(whole_[at(action.unit)], action, {ActionKind::gather, action.unit});
}

void RankRules::require_unit(const Action& action) const {
  DT_CHECK(action.unit >= 0 && action.unit < num_units_, "unit {} does not exist", action.unit);
  DT_CHECK(transfers_.holds(action.unit), "{}: the unit is another rank's", to_string(action));
}

void RankRules::require_reduced_before(const Action& action) const {
  if (!shape_.reduces_each_micro_batch()) return;
  require(reduced_[at(action.unit)] >= action.micro_batch - first_, action,
          {ActionKind::reduce, action.unit, action.micro_batch - 1});
}

void RankRules::take_gather(const Action& action) {
  require_unit(action);
  DT_CHECK(!whole_[at(action.unit)], "{} of what is whole", to_string(action));
  whole_[at(action.unit)] = true;
  DT_CHECK(!shape_.frees() || std::count(whole_.begin(), whole_.end(), true) <= 2,
           "{} makes more than two units whole", to_string(action));
}

void RankRules::take_free(const Action& action) {
  require_unit(action);
  DT_CHECK(shape_.frees() && whole_[at(action.unit)], "{} of what was not gathered", to_string(action));
  whole_[at(action.unit)] = false;
}

void RankRules::take_forward(const Action& action) {
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

void RankRules::take_discard(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::forward, action.unit);
  DT_CHECK(action.unit > 0 && action.unit < num_units_ - 1, "{}: only blocks are computed again",
           to_string(action));
  DT_CHECK(!done(ActionKind::backward_input, action.unit, action.micro_batch) && !discarded(action),
           "{} has nothing to discard", to_string(action));
  discarded(action) = true;
}

void RankRules::take_recompute(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::forward, action.unit);
  DT_CHECK(discarded(action), "{} of what was not discarded", to_string(action));
  require_whole(action);
  discarded(action) = false;
}

void RankRules::take_backward_input(const Action& action) {
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

void RankRules::take_backward_weight(const Action& action) {
  require_unit(action);
  require_done(action, ActionKind::backward_input, action.unit);
  require_in_order(action);
  if (!is_last(action.unit)) require_reduced_before(action);
  mark(action);
}

void RankRules::take_reduce(const Action& action) {
  require_unit(action);
  int& times = reduced_[at(action.unit)];
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

void RankRules::take_send(const Action& action) {
  const bool is_new = transfers_.send(action);
  if (action.payload == Payload::activation) require_done(action, ActionKind::forward, action.unit);
  if (action.payload == Payload::gradient) require_done(action, ActionKind::backward_input, action.unit + 1);
  require_exchange(action);
  require_new(is_new, action);
}

void RankRules::take_receive(const Action& action) {
  const bool is_new = transfers_.receive(action);
  require_exchange(action);
  require_new(is_new, action);
}

void RankRules::require_exchange(const Action& action) {
  if (action.payload == Payload::tied_gradient) {
    DT_CHECK(!controlled_, "{} comes after control", to_string(action));
    if (action.kind == ActionKind::send)
      require(reduced_[at(action.unit)] == reductions(), action, {ActionKind::reduce, action.unit});
  }
  if (action.payload == Payload::tied_weights) require(stepped_, action, {ActionKind::step});
}

void RankRules::take_control(const Action& action) {
  require_new(!controlled_, action);
  controlled_ = true;
  for (int u = 0; u < num_units_; ++u) {
    if (!transfers_.holds(u)) continue;
    require(reduced_[at(u)] == reductions(), action, {ActionKind::reduce, u});
    for (int m = first_; m < first_ + num_micro_batches_; ++m)
      require(done(ActionKind::backward_weight, u, m), action, {ActionKind::backward_weight, u, m});
  }
  transfers_.check_control();
}

}  // namespace dt::parallel
