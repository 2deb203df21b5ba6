#include "parallel/schedule/builders.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "parallel/one_rank.hpp"

using namespace dt::parallel;
using namespace dt_test;

namespace {

/// One rank's gradient accumulation, written out with each action at its place: the list that the
/// passes must reach.
class Builder {
 public:
  explicit Builder(const StepShape& shape) : shape_(shape), last_unit_(shape.num_units - 1) {}

  /// Adds the forwards of the round-th micro-batch of every rank. This rank may not have that
  /// micro-batch.
  void forward(int round, bool keeps_head) {
    const bool gathers = shape_.frees_weights() || (shape_.gathers_weights() && round == 0);
    if (gathers) add(ActionKind::gather, 0);
    for (int unit = 0; unit <= last_unit_; ++unit) {
      if (gathers && unit < last_unit_) add(ActionKind::gather, unit + 1);
      if (has(round)) {
        add(ActionKind::forward, unit, number(round));
        if (keeps_head && is_discarded(unit)) add(ActionKind::discard, unit, number(round));
      }
      if (shape_.frees_weights() && !(keeps_head && unit == last_unit_)) add(ActionKind::free, unit);
    }
  }

  void backward(int round) {
    for (int unit = last_unit_; unit >= 0; --unit) {
      if (shape_.frees_weights() && unit > 1) add(ActionKind::gather, unit - 1);
      if (has(round)) {
        if (is_discarded(unit)) add(ActionKind::recompute, unit, number(round));
        add(ActionKind::backward_input, unit, number(round));
      }
      if (shape_.frees_weights() && unit > 0) add(ActionKind::free, unit);
      if (has(round)) add(ActionKind::backward_weight, unit, number(round));
      if (shape_.reduces_each_micro_batch()) {
        add(ActionKind::reduce, unit, has(round) ? number(round) : -1);
      } else if (round == rounds() - 1) {
        add(ActionKind::reduce, unit);
      }
    }
  }

  /// Returns the number of rounds. A rank without micro-batches takes part in the collectives of
  /// one.
  int rounds() const {
    return shape_.reduces_each_micro_batch() ? std::max(1, shape_.max_micro_batches)
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

ActionList written_out_step(const StepShape& shape) {
  Builder builder(shape);
  for (int round = 0; round < builder.rounds(); ++round) {
    builder.forward(round, true);
    builder.backward(round);
  }
  builder.add(ActionKind::control);
  builder.add(ActionKind::step);
  return builder.take();
}

ActionList written_out_evaluation(const StepShape& shape) {
  Builder builder(shape);
  const int rounds = shape.gathers_weights() ? std::max(1, shape.max_micro_batches) : shape.num_micro_batches;
  for (int round = 0; round < rounds; ++round) builder.forward(round, false);
  return builder.take();
}

ActionList of_kinds(const ActionList& list, std::initializer_list<ActionKind> kinds) {
  ActionList found;
  for (const Action& a : list) {
    if (std::find(kinds.begin(), kinds.end(), a.kind) != kinds.end()) found.push_back(a);
  }
  return found;
}

}  // namespace

TEST_CASE("passes over one rank's accumulation give the lists that are written out here") {
  for (const int units : {2, 3, 4, 7}) {
    for (const int zero : {0, 1, 2, 3}) {
      for (const int micro_batches : {0, 1, 2, 5}) {
        for (const int more : {0, 1, 3}) {
          for (const bool recompute : {false, true}) {
            const StepShape shape{.num_units = units,
                                  .first_micro_batch = 3,
                                  .num_micro_batches = micro_batches,
                                  .max_micro_batches = micro_batches + more,
                                  .recompute = recompute,
                                  .zero = zero};
            INFO(units << " units, " << micro_batches << "+" << more << " micro-batches, zero " << zero);
            CHECK(build_training_step(shape) == written_out_step(shape));
            CHECK(build_evaluation(shape) == written_out_evaluation(shape));
          }
        }
      }
    }
  }
}

TEST_CASE(
    "a receive comes when what the one before it brought is about to be used, and its data's origin is "
    "sent") {
  using enum ActionKind;
  const StepShape shape{.num_units = 2, .num_micro_batches = 3, .max_micro_batches = 3};
  const auto lists = build_training_steps(shape, {one_f_one_b(2, 3), {{0, 1, 2}}});
  const auto activation = [](ActionKind kind, int m) {
    return Action{kind, 0, m, Payload::activation, kind == send ? 1 : 0};
  };
  const auto gradient = [](ActionKind kind, int m) {
    return Action{kind, 0, m, Payload::gradient, kind == send ? 0 : 1};
  };
  CHECK(lists[0] == ActionList{{forward, 0, 0},
                               activation(send, 0),
                               gradient(receive, 0),
                               {forward, 0, 1},
                               activation(send, 1),
                               gradient(receive, 1),
                               {backward_input, 0, 0},
                               {backward_weight, 0, 0},
                               {forward, 0, 2},
                               activation(send, 2),
                               gradient(receive, 2),
                               {backward_input, 0, 1},
                               {backward_weight, 0, 1},
                               {backward_input, 0, 2},
                               {backward_weight, 0, 2},
                               {reduce, 0},
                               {control},
                               {step}});
  CHECK(of_kinds(lists[1], {receive, forward, send}) == ActionList{activation(receive, 0),
                                                                   activation(receive, 1),
                                                                   {forward, 1, 0},
                                                                   gradient(send, 0),
                                                                   activation(receive, 2),
                                                                   {forward, 1, 1},
                                                                   gradient(send, 1),
                                                                   {forward, 1, 2},
                                                                   gradient(send, 2)});
}

TEST_CASE("the last block is computed again unless its backward comes at once") {
  const StepShape shape{.num_units = 6, .num_micro_batches = 3, .max_micro_batches = 3, .recompute = true};
  const Stages stages{{0, 3, 6}};
  const auto discards = [&](const PipelineSchedule& schedule, std::size_t rank) {
    const auto list = build_training_steps(shape, {schedule, stages})[rank];
    return of_kinds(list, {ActionKind::discard, ActionKind::recompute}).size() / 2;
  };
  CHECK(discards(one_f_one_b(2, 3), 0) == 2 * 3);
  CHECK(discards(one_f_one_b(2, 3), 1) == 1 * 3);  // the last of blocks 3 and 4 has its backward at once
  CHECK(discards(gpipe(2, 3), 1) == 2 * 3);        // other micro-batches come between
}

TEST_CASE("where gradients are divided, the head's are reduced before the next micro-batch's are made") {
  const StepShape shape{.num_units = 2, .num_micro_batches = 2, .max_micro_batches = 2, .zero = 2};
  const auto lists = build_training_steps(shape, {gpipe(2, 2), {{0, 1, 2}}});
  using enum ActionKind;
  CHECK(of_kinds(lists[1], {forward, backward_weight, reduce}) == ActionList{{forward, 1, 0},
                                                                             {reduce, 1, 0},
                                                                             {forward, 1, 1},
                                                                             {reduce, 1, 1},
                                                                             {backward_weight, 1, 0},
                                                                             {backward_weight, 1, 1}});
  CHECK(of_kinds(lists[0], {backward_weight, reduce}) ==
        ActionList{{backward_weight, 0, 0}, {reduce, 0, 0}, {backward_weight, 0, 1}, {reduce, 0, 1}});
}

TEST_CASE("a tied table's gradients meet on its owner, which sends the new weights") {
  using enum ActionKind;
  const StepShape shape{.num_units = 4, .num_micro_batches = 1, .max_micro_batches = 1};
  const Pipeline down{one_f_one_b(2, 1), {{0, 2, 4}}, true};
  const auto lists = build_training_steps(shape, down);
  const auto last = [](const ActionList& list) { return ActionList(list.end() - 4, list.end()); };
  CHECK(last(lists[0]) == ActionList{{receive, 3, -1, Payload::tied_gradient, 1},
                                     {control},
                                     {step},
                                     {send, 3, -1, Payload::tied_weights, 1}});
  CHECK(last(lists[1]) == ActionList{{send, 3, -1, Payload::tied_gradient, 0},
                                     {control},
                                     {step},
                                     {receive, 3, -1, Payload::tied_weights, 0}});
  CHECK(build_weight_change(down, 1) == ActionList{{step}, {receive, 3, -1, Payload::tied_weights, 0}});
  const auto v = build_training_steps(shape, {v_shaped(2, 1), {{0, 1, 2, 3, 4}}, true});
  for (const ActionList& list : v) CHECK(list.back() == Action{step});  // both ends are on one rank
}

TEST_CASE("a schedule that does not fit the stages or the micro-batches is refused") {
  const StepShape shape{.num_units = 4, .num_micro_batches = 2, .max_micro_batches = 2};
  CHECK_THROWS_AS(build_training_steps(shape, {gpipe(2, 2), {{0, 4}}}), dt::Error);
  CHECK_THROWS_AS(build_training_steps(shape, {gpipe(2, 2), {{0, 2, 5}}}), dt::Error);
  CHECK_THROWS_AS(build_training_steps(shape, {gpipe(2, 1), {{0, 2, 4}}}), dt::Error);
}
