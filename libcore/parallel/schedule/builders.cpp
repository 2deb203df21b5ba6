#include "parallel/schedule/builders.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

namespace {

// Passes extend the list of a rank's computations to all of its actions. Each pass adds the actions
// that follow from those in the list.

using enum ActionKind;

void add_units(ActionList& list, const Stages& stages, const Computation& c,
               std::span<const ActionKind> kinds) {
  for (int i = 0; i < stages.end(c.stage) - stages.begin(c.stage); ++i) {
    const int unit = c.kind == forward ? stages.begin(c.stage) + i : stages.end(c.stage) - 1 - i;
    for (const ActionKind kind : kinds) list.push_back({kind, unit, c.micro_batch});
  }
}

bool is(const ActionList& list, std::size_t i, const Action& action) {
  return i < list.size() && list[i] == action;
}

/// Adds gathers and frees around computations.
class Gatherer {
 public:
  Gatherer(const ActionList& list, bool frees) : list_(list), frees_(frees) {}

  ActionList run() {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const Action& a = list_[i];
      const bool uses = a.kind == forward || (a.kind == backward_input && a.unit > 0);
      if (uses) require(a.unit);
      if (a.kind == forward && is(list_, i + 1, {forward, a.unit + 1, a.micro_batch})) require(a.unit + 1);
      if (a.kind == backward_input && a.unit > 1 && goes_on_back(i)) require(a.unit - 1);
      out_.push_back(a);
      const bool stays = a.unit > 0 && is(list_, i + 1, {backward_input, a.unit, a.micro_batch});
      if (frees_ && uses && !stays) free_weights(a.unit);
    }
    return std::move(out_);
  }

 private:
  bool goes_on_back(std::size_t i) const {
    const Action& a = list_[i];
    const bool weight_follows = is(list_, i + 1, {backward_weight, a.unit, a.micro_batch});
    return is(list_, i + (weight_follows ? 2 : 1), {backward_input, a.unit - 1, a.micro_batch});
  }
  void require(int unit) {
    if (whole_.insert(unit).second) out_.push_back({gather, unit});
  }
  void free_weights(int unit) {
    whole_.erase(unit);
    out_.push_back({ActionKind::free, unit});
  }

  const ActionList& list_;
  bool frees_;
  std::set<int> whole_;
  ActionList out_;
};

/// Returns whether a micro-batch goes forward through the unit before the previous one has gone back.
bool runs_ahead(const ActionList& list, int unit) {
  bool is_open = false;
  for (const Action& a : list) {
    if (a.unit != unit) continue;
    if (a.kind == forward && is_open) return true;
    if (a.kind == forward || a.kind == backward_weight) is_open = a.kind == forward;
  }
  return false;
}

/// Returns whether the backward follows with nothing but the head's work between; see
/// with_recompute().
bool goes_back_at_once(const ActionList& list, std::size_t i, int last_unit) {
  const Action back{backward_input, list[i].unit, list[i].micro_batch};
  for (++i; i < list.size() && list[i] != back; ++i) {
    const bool is_heads = list[i].unit == last_unit && list[i].micro_batch == back.micro_batch;
    if (list[i].computes() && !is_heads) return false;
  }
  return true;
}

/// Returns the receive that brings a unit's input, or dy, if it comes from another rank.
Action receive_for(const Action& a, const Pipeline& pipeline, int rank) {
  if (a.kind == forward && a.unit > 0 && pipeline.rank_of(a.unit - 1) != rank)
    return {receive, a.unit - 1, a.micro_batch, Payload::activation, pipeline.rank_of(a.unit - 1)};
  if (a.kind == backward_input && a.unit < pipeline.last_unit() && pipeline.rank_of(a.unit + 1) != rank)
    return {receive, a.unit, a.micro_batch, Payload::gradient, pipeline.rank_of(a.unit + 1)};
  return {receive};
}

Action send_after(const Action& a, const Pipeline& pipeline, int rank) {
  if (a.kind == forward && a.unit < pipeline.last_unit() && pipeline.rank_of(a.unit + 1) != rank)
    return {send, a.unit, a.micro_batch, Payload::activation, pipeline.rank_of(a.unit + 1)};
  if (a.kind == backward_input && a.unit > 0 && pipeline.rank_of(a.unit - 1) != rank)
    return {send, a.unit - 1, a.micro_batch, Payload::gradient, pipeline.rank_of(a.unit - 1)};
  return {send};
}

/// Returns a rank's computations, unit by unit, of all micro-batches that the schedule has, numbered
/// from 0.
ActionList computations_of(const Pipeline& pipeline, int rank) {
  ActionList list;
  for (const Computation& c : pipeline.schedule.orders[static_cast<std::size_t>(rank)]) {
    static constexpr ActionKind both[]{backward_input, backward_weight};
    const bool splits = c.kind == forward || pipeline.schedule.splits_backward;
    if (splits) add_units(list, pipeline.stages, c, std::span(&c.kind, 1));
    if (!splits && c.kind == backward_input) add_units(list, pipeline.stages, c, both);
  }
  return list;
}

/// Adds gathers of weights. If the next unit's computation of the same micro-batch follows at once,
/// its gather starts one unit ahead. Each unit is gathered before its first forward. If weights are
/// freed after use (`frees`), a unit is gathered for each forward and for each backward of a block
/// (the embedding's backward needs no weights). If a unit's backward follows its forward at once,
/// its weights stay between them.
ActionList with_gathers(const ActionList& list, bool frees) {
  return Gatherer(list, frees).run();
}

/// Adds reduces. A unit is reduced after its last backward_weight. With `each` it is reduced after
/// that of each micro-batch, as ranks hold whole gradients of only one micro-batch. The head makes
/// its gradients in its forward: if the next forward comes before the backward_weight, it is
/// reduced after its forward.
ActionList with_reduces(const ActionList& list, int last_unit, bool each) {
  const bool head_goes_early = each && runs_ahead(list, last_unit);
  std::map<int, int> last;  // by unit: micro-batch whose weight half comes last
  for (const Action& a : list) {
    if (a.kind == backward_weight) last[a.unit] = a.micro_batch;
  }
  ActionList out;
  for (const Action& a : list) {
    out.push_back(a);
    const bool is_early = head_goes_early && a.unit == last_unit;
    if (each && a.kind == (is_early ? forward : backward_weight))
      out.push_back({reduce, a.unit, a.micro_batch});
    if (!each && a.kind == backward_weight && last[a.unit] == a.micro_batch) out.push_back({reduce, a.unit});
  }
  return out;
}

/// Removes computations of micro-batches from `num_micro_batches` on, which this rank lacks. What
/// ranks do together stays. The other micro-batches' numbers begin with `first`.
ActionList without_absent_micro_batches(const ActionList& list, int first, int num_micro_batches) {
  ActionList out;
  for (Action a : list) {
    const bool is_missing = a.micro_batch >= num_micro_batches;
    if (is_missing && a.kind != reduce) continue;
    if (a.micro_batch >= 0) a.micro_batch = is_missing ? -1 : first + a.micro_batch;
    out.push_back(a);
  }
  return out;
}

/// Adds recomputation. What the forward of a block saved is discarded after it, and recomputed
/// before its backward. If nothing but the head's work on the same micro-batch comes between them,
/// this would gain nothing, and the block is left as it is. This holds for the last block if each
/// micro-batch goes back at once, as on 1F1B's last rank.
/// Source: Chen et al. 2016, section 4.
ActionList with_recompute(const ActionList& list, int last_unit) {
  ActionList out;
  std::set<std::pair<int, int>> discarded;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Action& a = list[i];
    if (a.kind == backward_input && discarded.contains({a.unit, a.micro_batch}))
      out.push_back({recompute, a.unit, a.micro_batch});
    out.push_back(a);
    const bool is_block = a.unit > 0 && a.unit < last_unit;
    if (a.kind != forward || !is_block || goes_back_at_once(list, i, last_unit)) continue;
    discarded.emplace(a.unit, a.micro_batch);
    out.push_back({discard, a.unit, a.micro_batch});
  }
  return out;
}

/// Adds sends and receives. An output or a gradient that another rank needs is sent as soon as it
/// is made. A receive from a rank starts before the data of the previous receive are used, so that
/// one is in flight while the other is in use. But it starts after this rank's last send of the
/// same micro-batch, without which there is nothing to receive. A receive that waits on a GPU
/// occupies a part of it, and CUDA may delay a kernel's first launch for as long.
ActionList with_transfers(const ActionList& list, const Pipeline& pipeline, int rank) {
  std::vector<ActionList> starting(list.size());        // receives before each action
  std::map<std::pair<int, Payload>, std::size_t> used;  // by communicator: action that uses what came last
  std::map<int, std::size_t> sent;                      // by micro-batch: action that follows its last send
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Action needed = receive_for(list[i], pipeline, rank);
    if (needed.peer >= 0) {
      std::size_t& last = used[{needed.peer, needed.payload}];
      starting[std::max(last, sent[list[i].micro_batch])].push_back(needed);
      last = i;
    }
    if (send_after(list[i], pipeline, rank).peer >= 0) sent[list[i].micro_batch] = i + 1;
  }
  ActionList out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    out.insert(out.end(), starting[i].begin(), starting[i].end());
    out.push_back(list[i]);
    const Action made = send_after(list[i], pipeline, rank);
    if (made.peer >= 0) out.push_back(made);
  }
  return out;
}

/// Adds the transfer of a tied table's gradients or weights, if two ranks hold the table.
void add_tied_transfer(ActionList& list, const Pipeline& pipeline, int rank, Payload payload) {
  if (!pipeline.has_split_tied_table()) return;
  const int last = pipeline.last_unit();
  int from = pipeline.rank_of(0), to = pipeline.rank_of(last);  // the owner first
  if (payload == Payload::tied_gradient) std::swap(from, to);
  if (rank == from) list.push_back({send, last, -1, payload, to});
  if (rank == to) list.push_back({receive, last, -1, payload, from});
}

/// Adds the end of a step. The tied table's gradients meet on its owner before the decision point,
/// and its other holder gets the new weights after the step.
ActionList with_step_end(ActionList list, const Pipeline& pipeline, int rank) {
  add_tied_transfer(list, pipeline, rank, Payload::tied_gradient);
  list.push_back({control});
  const ActionList change = build_weight_change(pipeline, rank);
  list.insert(list.end(), change.begin(), change.end());
  return list;
}

void check(const StepShape& shape, const Pipeline& pipeline) {
  const PipelineSchedule& schedule = pipeline.schedule;
  DT_CHECK(pipeline.stages.num_stages() == schedule.num_stages() && pipeline.num_units() == shape.num_units,
           "{} units in {} stages for {} units in {}", pipeline.num_units(), pipeline.stages.num_stages(),
           shape.num_units, schedule.num_stages());
  DT_CHECK(shape.num_micro_batches <= schedule.num_micro_batches, "a schedule of {} micro-batches for {}",
           schedule.num_micro_batches, shape.num_micro_batches);
}

/// Applies all passes but with_step_end().
ActionList build(const StepShape& shape, const Pipeline& pipeline, int rank, bool trains) {
  const int last_unit = pipeline.last_unit();
  ActionList list = computations_of(pipeline, rank);
  if (shape.gathers_weights()) list = with_gathers(list, shape.frees_weights());
  if (trains) list = with_reduces(list, last_unit, shape.reduces_each_micro_batch());
  list = without_absent_micro_batches(list, shape.first_micro_batch, shape.num_micro_batches);
  if (trains && shape.recompute) list = with_recompute(list, last_unit);
  return with_transfers(list, pipeline, rank);
}

}  // namespace

std::vector<ActionList> build_training_steps(const StepShape& shape, const Pipeline& pipeline) {
  check(shape, pipeline);
  std::vector<ActionList> lists;
  for (int rank = 0; rank < pipeline.num_ranks(); ++rank)
    lists.push_back(with_step_end(build(shape, pipeline, rank, true), pipeline, rank));
  return lists;
}

ActionList build_weight_change(const Pipeline& pipeline, int rank) {
  ActionList list{{step}};
  add_tied_transfer(list, pipeline, rank, Payload::tied_weights);
  return list;
}

std::vector<ActionList> build_evaluations(const StepShape& shape, const Pipeline& pipeline) {
  check(shape, pipeline);
  Pipeline forwards = pipeline;
  forwards.schedule = forward_only(pipeline.schedule);
  std::vector<ActionList> lists;
  for (int rank = 0; rank < pipeline.num_ranks(); ++rank)
    lists.push_back(build(shape, forwards, rank, false));
  return lists;
}

}  // namespace dt::parallel
