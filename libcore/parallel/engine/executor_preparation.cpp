// Prepares an executor for a list. A warm-up rehearses the rank's computations and sums once. The buffers
// that a list takes from the rank's pools are allocated before the list runs: a device then allocates
// nothing while receives wait in its streams.

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/engine/executor.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

namespace {

using model::MicroBatch;
using model::Unit;

/// Models by sizes alone how WeightStore acquires and releases buffers.
class SimulatedWeights {
 public:
  explicit SimulatedWeights(ModelStorage& storage)
      : local_(storage.local()),
        dtype_(storage.precision().compute),
        pool_(storage.weights().pool().simulated()),
        users_(local_.groups().size()),
        fulls_(local_.groups().size()) {}

  const std::vector<std::size_t>& missing() const { return pool_.missing(); }
  void gather(int unit) {
    for (const int group : local_.groups_of(unit)) {
      if (is_sharded(group) && users_[to_index(group)]++ == 0)
        fulls_[to_index(group)] = pool_.acquire(storage_bytes(dtype_, local_.group(group).numel));
    }
  }
  void release(int unit) {
    for (const int group : local_.groups_of(unit)) {
      if (is_sharded(group) && --users_[to_index(group)] == 0) pool_.release(fulls_[to_index(group)]);
    }
  }

 private:
  bool is_sharded(int group) const { return local_.group(group).sharding.shards_weights(); }

  const LocalTable& local_;
  DType dtype_;
  SimulatedPool pool_;
  std::vector<int> users_;  // users of gathered weights, by group
  std::vector<std::size_t> fulls_;
};

/// Models by sizes alone how Executor acquires and releases buffers.
class SimulatedList {
 public:
  SimulatedList(bool trains, bool finishes_each, const Activations& activations, ModelStorage& storage)
      : trains_(trains),
        finishes_each_(finishes_each),
        activations_(activations),
        storage_(storage),
        stage_rank_(storage.local().place().pp),
        pool_(activations.simulated()),
        weights_(storage),
        gradients_(trains ? storage.gradients().simulated() : nullptr) {}

  void perform(const Action& a) {
    using enum ActionKind;
    switch (a.kind) {
      case forward:
        return forward_of(a);
      case recompute:
        of(a).saved = take_saved(a);
        return;
      case discard:
        return pool_.release(of(a).saved);
      case backward_input:
        return backward_input_of(a);
      case backward_weight:
        return backward_weight_of(a);
      case gather:
        return weights_.gather(a.unit);
      case free:
        return weights_.release(a.unit);
      case reduce:
        gradients_->reduce(a.unit);
        return finishes_each_ ? gradients_->wait_reductions() : void();
      case send:
        return send_of(a);
      case receive:
        if (a.payload == Payload::activation) of(a).output = take_output(a);
        if (a.payload == Payload::gradient) of(a).output_gradient = take_output(a);
        return;
      case control:
        for (auto& [channel, buffers] : sent_) {
          for (std::size_t& bytes : buffers) pool_.release(bytes);
        }
        sent_.clear();
        return gradients_->finish(std::nullopt);
      case step:
        return;
    }
  }

  /// Allocates the missing buffers. Returns false if none was missing.
  bool allocate_missing(Activations& activations) {
    const auto allocate = [](const std::vector<std::size_t>& missing, auto& pool) {
      for (const std::size_t bytes : missing) pool.add_spare(bytes);
      return !missing.empty();
    };
    bool has_allocated = allocate(pool_.missing(), activations);
    has_allocated |= allocate(weights_.missing(), storage_.weights().pool());
    return (trains_ && allocate(gradients_->missing(), storage_.gradients().pool())) || has_allocated;
  }

 private:
  struct Record {
    std::size_t output = 0, saved = 0, backward_handoff = 0, output_gradient = 0;
  };
  const Unit& unit(const Action& a) const { return activations_.unit(a.unit); }
  bool is_head(const Action& a) const { return unit(a).spec().kind == model::UnitKind::head; }
  Record& of(const Action& a) { return records_[{a.unit, a.micro_batch}]; }
  Record& before(const Action& a) { return records_[{a.unit - 1, a.micro_batch}]; }
  std::size_t take_output(const Action& a) { return pool_.acquire(activations_.output_bytes(a.unit, a)); }
  std::size_t take_saved(const Action& a) {
    const MicroBatch& m = activations_.micro_batch(a);
    return pool_.acquire(unit(a).saved_bytes(m.batch, m.sequence));
  }

  void forward_of(const Action& a) {
    Record& mine = of(a);
    mine.saved = take_saved(a);
    mine.output = take_output(a);
    if (trains_ && unit(a).has_gradients_in_forward()) gradients_->acquire(a.unit);
    if (trains_) return;
    pool_.release(mine.saved);
    if (a.unit > 0) pool_.release(before(a).output);
    if (is_head(a)) pool_.release(mine.output);
  }
  void backward_input_of(const Action& a) {
    const MicroBatch& m = activations_.micro_batch(a);
    Record& mine = of(a);
    mine.backward_handoff =
        pool_.acquire(unit(a).backward_handoff_bytes(activations_.device(), m.batch, m.sequence));
    if (a.unit > 0) before(a).output_gradient = std::exchange(before(a).output, 0);
    if (unit(a).has_gradients_in_forward()) pool_.release(mine.saved);
  }
  void backward_weight_of(const Action& a) {
    Record& mine = of(a);
    if (!unit(a).has_gradients_in_forward()) gradients_->acquire(a.unit);
    for (std::size_t* const bytes : {&mine.saved, &mine.backward_handoff, &mine.output_gradient})
      pool_.release(*bytes);
    if (is_head(a)) pool_.release(mine.output);
  }
  void send_of(const Action& a) {
    if (a.payload == Payload::tied_gradient) gradients_->finish(storage_.local().tied_group());
    std::deque<std::size_t>& sent = sent_[channel_of(a, stage_rank_)];
    if (sent.size() == max_sends_in_flight) {
      pool_.release(sent.front());
      sent.pop_front();
    }
    sent.push_back(0);
    if (a.payload == Payload::activation) sent.back() = std::exchange(of(a).output, 0);
    if (a.payload == Payload::gradient) sent.back() = std::exchange(of(a).output_gradient, 0);
  }

  bool trains_, finishes_each_;
  const Activations& activations_;
  ModelStorage& storage_;
  int stage_rank_;
  SimulatedPool pool_;
  SimulatedWeights weights_;
  std::unique_ptr<SimulatedGradients> gradients_;  // null in evaluations
  std::map<std::pair<int, int>, Record> records_;  // by unit and micro-batch
  std::map<Channel, std::deque<std::size_t>> sent_;
};

/// Allocates the buffers that the pools lack for a list. If memory is short, it stops, and the list
/// allocates the rest or fails. `activations` have been started on the list's micro-batches. With
/// `finishes_each`, each sum over the ranks ends with the action that starts it. A pool with more spare
/// buffers may hand out others than before, so the simulation is repeated until none is missing.
void preallocate(const ActionList& list, bool trains, bool finishes_each, Activations& activations,
                 ModelStorage& storage) {
  try {
    for (bool has_taken = true; has_taken;) {
      SimulatedList simulated(trains, finishes_each, activations, storage);
      for (const Action& action : list) simulated.perform(action);
      has_taken = simulated.allocate_missing(activations);
    }
  } catch (const Error&) {
    // The list meets the same shortage, and reports it.
  }
}

}  // namespace

void Executor::prepare(const ActionList& list, std::span<const MicroBatch> micro_batches, int first) {
  if (receives_block_streams() && trains(list)) {
    if (!std::exchange(is_warmed_up_, true)) {
      const std::int64_t before = recorded_bytes(*storage_.ranks().control());
      warm_up(micro_batches, first);
      warm_up_bytes_ = recorded_bytes(*storage_.ranks().control()) - before;
    }
    DT_CHECK(has_computed_ || micro_batches.empty(),
             "{} micro-batches on a rank that had none when the first step was rehearsed",
             micro_batches.size());
  }
  const bool is_larger = activations_.start(micro_batches, first);
  if (context_.device() == Device::host()) return;
  if (is_larger) prepared_ = {};
  MemoryDemand demand{list};
  for (const MicroBatch& m : micro_batches) demand.shapes.emplace_back(m.batch, m.sequence);
  if (demand == prepared_) return;
  preallocate(list, trains(list), !overlaps_, activations_, storage_);
  if (trains(list)) prepared_ = std::move(demand);
}

/// The warm-up cannot deadlock. The ranks of a stage start their collectives here in one order. A
/// rank that waits for all work of its device has started whatever the other ranks wait for, and
/// waits for no other stage.
void Executor::warm_up(std::span<const MicroBatch> micro_batches, int first) {
  trains_ = true;
  has_computed_ = !micro_batches.empty();
  activations_.start(micro_batches, first);
  storage_.weights().mark_updated();  // whole weights are then gathered, too
  storage_.gradients().start_step(context_);
  std::set<std::pair<model::UnitKind, int>> done;
  for (const int unit : storage_.local().units()) {
    const model::UnitSpec& spec = activations_.unit(unit).spec();
    const bool is_first = done.emplace(spec.kind, spec.first_alike).second;
    storage_.weights().gather(unit);
    if (is_first && has_computed_) warm_up(unit, first);
    storage_.weights().release(context_, unit);
    storage_.gradients().warm_up_reduce(context_, unit);
  }
  storage_.weights().finish_gathers(context_);
  storage_.gradients().warm_up_complete(context_);
  storage_.weights().mark_updated();  // a list gathers as it would without the warm-up
  context_.synchronize();
}

/// Computes a unit with an input of zeros, if another unit makes its input, and with its own output
/// as the gradient. It thus takes as much memory as a unit of a step.
void Executor::warm_up(int unit, int micro_batch) {
  const Action forth{ActionKind::forward, unit, micro_batch};
  if (unit > 0) kernels::zero(context_, activations_.acquire_output(unit - 1, forth));
  forward(forth, {});
  if (!is_head(activations_.unit(unit))) activations_.reuse_output_for_gradient(unit, forth);
  both_halves_ = splits_layers();
  backward_input({ActionKind::backward_input, unit, micro_batch});
  backward_weight({ActionKind::backward_weight, unit, micro_batch});
  if (unit == 0) return;
  activations_.release(std::move(activations_.record_of(unit - 1, micro_batch).output_gradient));
  activations_.erase_if_empty(unit - 1, micro_batch);
}

/// Returns whether receives wait in streams. It is the same on all ranks, also on a rank that has no
/// micro-batch and so receives nothing.
bool Executor::receives_block_streams() const {
  const comm::Communicator* const control = storage_.ranks().control();
  return control != nullptr && control->has_device_transport() && storage_.local().layout().pp > 1;
}

}  // namespace dt::parallel
