#include "parallel/engine/preallocation.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

namespace {

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
        fulls_[to_index(group)] =
            pool_.acquire(static_cast<std::size_t>(local_.group(group).numel) * dtype_bytes(dtype_));
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
    const model::MicroBatch& m = activations_.micro_batch(a);
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
    const model::MicroBatch& m = activations_.micro_batch(a);
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

}  // namespace

/// A pool with more spare buffers may hand out others than before, so the simulation is repeated until none
/// is missing.
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

}  // namespace dt::parallel
