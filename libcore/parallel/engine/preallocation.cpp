#include "parallel/engine/preallocation.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "parallel/schedule/channels.hpp"

namespace dt::parallel {

namespace {

using model::Unit;

/// Repeats on paper how WeightStore and GradientStore take and give buffers.
class SimulatedStores {
 public:
  explicit SimulatedStores(ModelStorage& storage)
      : local_(storage.local()),
        precision_(storage.precision()),
        has_replicas_(storage.ranks().has_replicas()),
        weights_(storage.weights().pool().simulated()),
        users_(local_.groups().size()),
        wholes_(local_.groups().size()) {}

  void use_gradients(SimulatedPool& pool) { gradients_ = &pool; }
  const std::vector<std::size_t>& missing_weights() const { return weights_.missing(); }

  void gather(int unit) {
    for (const int group : local_.groups_of(unit)) {
      if (local_.group(group).sharding.shards_weights() && users_[to_index(group)]++ == 0)
        wholes_[to_index(group)] = weights_.acquire(bytes_of(numel(group), precision_.compute));
    }
  }
  void release(int unit) {
    for (const int group : local_.groups_of(unit)) {
      if (local_.group(group).sharding.shards_weights() && --users_[to_index(group)] == 0)
        weights_.release(wholes_[to_index(group)]);
    }
  }

  void acquire_gradients(int unit) {
    finish_all_but_newest();
    for (const int group : local_.groups_of(unit)) {
      if (divides_gradients(group)) acquire_full(group, holders_[{group, unit}]);
    }
  }
  void reduce(int unit) {
    std::vector<Reduction> reductions;
    for (const int group : local_.groups_of(unit)) {
      Holder& holder = holders_[{group, unit}];
      if (divides_gradients(group)) {
        finish_all_but_newest();
        reductions.push_back(start_reduce_scatter(group, holder));
      } else if (local_.group(group).sharding.shards_optimizer() || has_replicas_) {
        holder.wire = take_wire(numel(group));
      }
    }
    if (!reductions.empty()) under_way_.push_back(std::move(reductions));
  }
  void wait_reductions() {
    while (!under_way_.empty()) finish_oldest();
    for (auto& [place, holder] : holders_) gradients_->release(holder.wire);
  }
  /// Finishes the sums of one group over the replicas, or those of all groups.
  void finish(std::optional<int> group) {
    wait_reductions();
    if (!has_replicas_) return;
    for (std::size_t i = 0; i < local_.groups().size(); ++i) {
      const LocalGroup& spec = local_.groups()[i];
      const int number = static_cast<int>(i);
      if ((group && *group != number) || !spec.sharding.shards_optimizer() || is_final_.contains(number))
        continue;
      for (const int unit : spec.holders) holders_[{number, unit}].wire = take_wire(spec.owned_range.count);
    }
    for (auto& [place, holder] : holders_) gradients_->release(holder.wire);
    if (group) is_final_.insert(*group);
  }

 private:
  struct Holder {
    std::size_t whole = 0, wire = 0;
    bool has_sum = false;
  };
  struct Reduction {
    std::size_t whole = 0, wire = 0, part = 0;
  };
  static std::size_t bytes_of(std::int64_t numel, DType dtype) {
    return static_cast<std::size_t>(numel) * dtype_bytes(dtype);
  }
  std::int64_t numel(int group) const { return local_.group(group).numel; }
  bool divides_gradients(int group) const { return local_.group(group).sharding.shards_gradients(); }
  void acquire_full(int group, Holder& holder) {
    holder.whole = gradients_->acquire(bytes_of(numel(group), precision_.gradient));
  }
  std::size_t take_wire(std::int64_t numel) {
    return precision_.wire() == precision_.gradient ? 0
                                                    : gradients_->acquire(bytes_of(numel, precision_.wire()));
  }
  Reduction start_reduce_scatter(int group, Holder& holder) {
    if (holder.whole == 0) acquire_full(group, holder);
    Reduction reduction{.whole = std::exchange(holder.whole, 0)};
    if (std::exchange(holder.has_sum, true))
      reduction.part =
          gradients_->acquire(bytes_of(local_.group(group).owned_range.count, precision_.gradient));
    reduction.wire = take_wire(numel(group));
    return reduction;
  }
  void finish_all_but_newest() {
    while (under_way_.size() > GradientStore::max_reductions_in_flight) finish_oldest();
  }
  void finish_oldest() {
    for (Reduction& reduction : under_way_.front()) {
      for (std::size_t* const bytes : {&reduction.wire, &reduction.whole, &reduction.part})
        gradients_->release(*bytes);
    }
    under_way_.pop_front();
  }

  const LocalTable& local_;
  const Precision& precision_;
  bool has_replicas_;
  SimulatedPool weights_;
  SimulatedPool* gradients_ = nullptr;  // null in evaluations
  std::vector<int> users_;              // users of gathered weights, by group
  std::vector<std::size_t> wholes_;
  std::map<std::pair<int, int>, Holder> holders_;  // by group and unit
  std::deque<std::vector<Reduction>> under_way_;
  std::set<int> is_final_;
};

/// Repeats on paper how Executor takes and gives buffers.
class SimulatedList {
 public:
  SimulatedList(bool trains, bool finishes_each, const Activations& activations, ModelStorage& storage)
      : trains_(trains),
        finishes_each_(finishes_each),
        activations_(activations),
        storage_(storage),
        stage_rank_(storage.local().place().pp),
        pool_(activations.simulated()),
        stores_(storage) {
    if (!trains_) return;
    gradients_.emplace(storage.gradients().pool().simulated());
    stores_.use_gradients(*gradients_);
  }

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
        return stores_.gather(a.unit);
      case free:
        return stores_.release(a.unit);
      case reduce:
        stores_.reduce(a.unit);
        return finishes_each_ ? stores_.wait_reductions() : void();
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
        return stores_.finish(std::nullopt);
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
    has_allocated |= allocate(stores_.missing_weights(), storage_.weights().pool());
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
    if (trains_ && unit(a).has_gradients_in_forward()) stores_.acquire_gradients(a.unit);
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
    if (!unit(a).has_gradients_in_forward()) stores_.acquire_gradients(a.unit);
    for (std::size_t* const bytes : {&mine.saved, &mine.backward_handoff, &mine.output_gradient})
      pool_.release(*bytes);
    if (is_head(a)) pool_.release(mine.output);
  }
  void send_of(const Action& a) {
    if (a.payload == Payload::tied_gradient) stores_.finish(storage_.local().tied_group());
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
  SimulatedStores stores_;
  std::optional<SimulatedPool> gradients_;
  std::map<std::pair<int, int>, Record> records_;  // by unit and micro-batch
  std::map<Channel, std::deque<std::size_t>> sent_;
};

}  // namespace

/// A pool with more spare buffers may hand out others than before, so the walk is repeated until none is
/// missing.
void preallocate(const ActionList& list, bool trains, bool finishes_each, Activations& activations,
                 ModelStorage& storage) {
  try {
    for (bool has_taken = true; has_taken;) {
      SimulatedList paper(trains, finishes_each, activations, storage);
      for (const Action& action : list) paper.perform(action);
      has_taken = paper.allocate_missing(activations);
    }
  } catch (const Error&) {
    // The list meets the same shortage, and reports it.
  }
}

}  // namespace dt::parallel
