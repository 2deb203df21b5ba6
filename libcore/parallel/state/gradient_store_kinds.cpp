// The kinds of gradient stores. If gradients are whole, each rank adds up its micro-batches, and the ranks
// sum once a step. If they are sharded, the ranks sum each micro-batch, and each rank keeps its shard of the
// sums.

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/state/gradient_store.hpp"

namespace dt::parallel {

namespace {

/// Returns whether this is the embedding's gradient of a tied table. It has values for the tokens
/// that a step saw and zeros elsewhere, and is read once. (Buffers that are read or written whole
/// are slower in small pages.)
bool is_beside_another(const LocalGroup& group, const model::UnitSpec& unit) {
  return group.holders.size() > 1 && unit.kind == model::UnitKind::embedding;
}

/// Returns whether ranks sum the group's gradients once they are those of all this rank's micro-batches.
bool is_summed(const LocalGroup& group, const Groups& ranks) {
  return group.sharding.shards_optimizer() || ranks.reduction(group.reduction).has_replicas();
}

class SimulatedWholeGradients final : public SimulatedGradients {
 public:
  using SimulatedGradients::SimulatedGradients;

  void acquire(int) override {}
  void reduce(int unit) override {
    for (const int group : local().groups_of(unit)) {
      const LocalGroup& spec = local().group(group);
      if (is_summed(spec, ranks())) hold_wire(spec.numel);
    }
  }
  void wait_reductions() override { release_wires(); }
};

/// Gradients that data-parallel ranks do not shard. They are summed in lanes on this rank, then once over
/// the ranks. If the optimizer's state is sharded (ZeRO 1), each rank gets its shard of the sum.
class WholeGradients final : public GradientStore {
 public:
  WholeGradients(Device device, const LocalTable& local, const Precision& precision, const LanePlan& plan,
                 const Groups& ranks);
  /// Cancels the sums over the ranks that are under way, since their memory goes before the holders.
  ~WholeGradients() override { cancel_works(); }

  void start_step(const Context& context) override;
  void finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) override;
  void warm_up_reduce(const Context& context, int unit) override;
  void reduce(const Context& context, int unit) override;
  void wait_reductions(const Context& context) override;
  std::size_t bytes() const override;
  std::unique_ptr<SimulatedGradients> simulated() const override;

 private:
  Tensor full_gradient(const Context& context, int group, int unit, std::int64_t micro_batch) override;
  GradientSum& sum_of(int group, int unit) { return sums_.at({group, unit}); }
  void start_sum(const Context& context, int group, const Tensor& total, Holder& holder);

  std::map<std::pair<int, int>, GradientSum> sums_;  // over micro-batches, by group and unit
};

WholeGradients::WholeGradients(Device device, const LocalTable& local, const Precision& precision,
                               const LanePlan& plan, const Groups& ranks)
    : GradientStore(device, local, precision, ranks) {
  for (int group = 0; group < num_groups(); ++group) {
    const LocalGroup& spec = local.group(group);
    const bool is_alone = !is_summed(spec, ranks) && plan.depth() <= 1;
    for (const int unit : spec.holders) {
      const bool is_mostly_zero = is_alone && is_beside_another(spec, local.table().units()[to_index(unit)]);
      sums_.try_emplace({group, unit}, device, spec.numel, precision.gradient, plan,
                        is_mostly_zero ? Pages::sparse : Pages::huge);
    }
  }
}

void WholeGradients::start_step(const Context& context) {
  GradientStore::start_step(context);
  for (auto& [place, sum] : sums_) sum.start(context);
}

Tensor WholeGradients::full_gradient(const Context& context, int group, int unit, std::int64_t micro_batch) {
  return sum_of(group, unit).accumulator(context, micro_batch);
}

void WholeGradients::finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) {
  for (const int group : local().groups_of(unit)) sum_of(group, unit).finish(context, micro_batch);
}

void WholeGradients::warm_up_reduce(const Context& context, int unit) {
  for (const int group : local().groups_of(unit)) sum_of(group, unit).skip_all();
  GradientStore::warm_up_reduce(context, unit);
}

void WholeGradients::reduce(const Context& context, int unit) {
  for (const int group : local().groups_of(unit)) {
    Holder& holder = holder_of(group, unit);
    DT_CHECK(!holder.is_reduced, "unit {} is reduced twice", unit);
    holder.is_reduced = true;
    start_sum(context, group, sum_of(group, unit).total(), holder);
  }
}

void WholeGradients::start_sum(const Context& context, int group, const Tensor& total, Holder& holder) {
  const Range mine = owned_range(group);
  holder.shard = total.flat(mine.begin, mine.count);
  const LocalGroup& spec = local().group(group);
  if (!is_summed(spec, ranks())) return;
  const ReductionRanks& summing = ranks().reduction(spec.reduction);
  const Tensor moved = cast_to_wire(context, total, holder.wire);
  communicate([&] {
    holder.works.push_back(spec.sharding.shards_optimizer()
                               ? summing.shards->reduce_scatter(moved, moved.flat(mine.begin, mine.count),
                                                                comm::Reduction::sum, shard_granule)
                               : summing.replicas->all_reduce(moved, moved));
  });
}

void WholeGradients::wait_reductions(const Context& context) {
  for (int group = 0; group < num_groups(); ++group) finish_works(context, group, owned_range(group).begin);
}

std::size_t WholeGradients::bytes() const {
  std::size_t total = GradientStore::bytes();
  for (const auto& [place, sum] : sums_) total += sum.bytes();
  return total;
}

std::unique_ptr<SimulatedGradients> WholeGradients::simulated() const {
  return std::make_unique<SimulatedWholeGradients>(local(), precision(), ranks(), simulated_pool());
}

/// The number of micro-batches whose sums over the ranks may be under way while the next one computes.
constexpr std::size_t max_reductions_in_flight = 1;

class SimulatedShardedGradients final : public SimulatedGradients {
 public:
  using SimulatedGradients::SimulatedGradients;

  void acquire(int unit) override {
    for (const int group : local().groups_of(unit)) {
      finish_all_but_newest();
      fulls_[{group, unit}] = acquire_full(group);
    }
  }
  void reduce(int unit) override {
    std::vector<Reduction> reductions;
    for (const int group : local().groups_of(unit)) {
      finish_all_but_newest();
      reductions.push_back(start_reduce_scatter(group, unit));
    }
    in_flight_.push_back(std::move(reductions));
  }
  void wait_reductions() override {
    while (!in_flight_.empty()) finish_oldest();
  }

 private:
  struct Reduction {
    std::size_t full = 0, wire = 0, shard = 0;
  };
  std::size_t acquire_full(int group) {
    return acquire_elements(local().group(group).numel, precision().gradient);
  }
  Reduction start_reduce_scatter(int group, int unit) {
    Reduction reduction{.full = std::exchange(fulls_[{group, unit}], 0)};
    if (reduction.full == 0) reduction.full = acquire_full(group);
    const bool is_first = reduced_.emplace(group, unit).second;
    if (!is_first)
      reduction.shard = acquire_elements(local().group(group).owned_range.count, precision().gradient);
    reduction.wire = acquire_wire(local().group(group).numel);
    return reduction;
  }
  void finish_all_but_newest() {
    while (in_flight_.size() > max_reductions_in_flight) finish_oldest();
  }
  void finish_oldest() {
    for (Reduction& reduction : in_flight_.front()) {
      for (std::size_t* const bytes : {&reduction.wire, &reduction.full, &reduction.shard})
        pool().release(*bytes);
    }
    in_flight_.pop_front();
  }

  std::map<std::pair<int, int>, std::size_t> fulls_;  // by group and unit, like reduced_
  std::set<std::pair<int, int>> reduced_;
  std::deque<std::vector<Reduction>> in_flight_;
};

/// Gradients that data-parallel ranks shard (ZeRO 2 and 3). Each micro-batch's are summed over the ranks at
/// once, and this rank's shards of the sums are added up.
class ShardedGradients final : public GradientStore {
 public:
  ShardedGradients(Device device, const LocalTable& local, const Precision& precision, const Groups& ranks);

  void finish_micro_batch(const Context&, int, std::int64_t) override {}
  void reduce(const Context& context, int unit) override;
  void wait_reductions(const Context& context) override;
  std::unique_ptr<SimulatedGradients> simulated() const override;

 private:
  /// A micro-batch's sum over the ranks that is under way. The work ends before its buffers.
  struct Reduction {
    Holder* holder;
    int group;
    Buffer full;
    Buffer wire;   // the same, if another dtype travels
    Buffer shard;  // shard that arrives; empty if it arrives in the holder's own
    comm::Work work;
  };
  Tensor full_gradient(const Context& context, int group, int unit, std::int64_t micro_batch) override;
  Buffer take_full(const Context& context, int group, int unit);
  Reduction start_reduce_scatter(const Context& context, int group, int unit);
  void finish_all_but_newest(const Context& context);
  void finish_oldest(const Context& context);

  std::map<std::pair<int, int>, Buffer> fulls_;   // the current micro-batch's, by group and unit
  std::deque<std::vector<Reduction>> in_flight_;  // each of one unit and micro-batch
};

ShardedGradients::ShardedGradients(Device device, const LocalTable& local, const Precision& precision,
                                   const Groups& ranks)
    : GradientStore(device, local, precision, ranks) {
  for (int group = 0; group < num_groups(); ++group) {
    for (const int unit : local.group(group).holders) allocate_shard(device, group, holder_of(group, unit));
  }
}

Tensor ShardedGradients::full_gradient(const Context& context, int group, int unit, std::int64_t) {
  finish_all_but_newest(context);
  Buffer& full = fulls_[{group, unit}];
  DT_CHECK(!full.data(), "unit {} has gradients that were not reduced", unit);
  full = acquire(numel(group), precision().gradient);
  kernels::zero(context, flat(full, numel(group)));
  return flat(full, numel(group));
}

void ShardedGradients::reduce(const Context& context, int unit) {
  std::vector<Reduction> reductions;
  for (const int group : local().groups_of(unit)) {
    finish_all_but_newest(context);
    reductions.push_back(start_reduce_scatter(context, group, unit));
  }
  in_flight_.push_back(std::move(reductions));
}

/// Returns the current micro-batch's gradient. A rank without a micro-batch adds −0, which changes no bit
/// of the others' sum.
Buffer ShardedGradients::take_full(const Context& context, int group, int unit) {
  Buffer full = std::exchange(fulls_[{group, unit}], Buffer());
  if (full.data()) return full;
  full = acquire(numel(group), precision().gradient);
  kernels::fill(context, -0.0, flat(full, numel(group)));
  return full;
}

/// Starts a micro-batch's sum. The step's first one arrives in the holder's shard.
ShardedGradients::Reduction ShardedGradients::start_reduce_scatter(const Context& context, int group,
                                                                   int unit) {
  Holder& holder = holder_of(group, unit);
  const Range mine = owned_range(group);
  Reduction reduction{&holder, group, take_full(context, group, unit), {}, {}, {}};
  const bool is_first = !std::exchange(holder.is_reduced, true);
  if (!is_first) reduction.shard = acquire(mine.count, precision().gradient);
  const Tensor target = is_first ? holder.shard : flat(reduction.shard, mine.count);
  const Tensor moved = cast_to_wire(context, flat(reduction.full, numel(group)), reduction.wire);
  const Tensor arrives = reduction.wire.data() ? moved.flat(mine.begin, mine.count) : target;
  communicate([&] {
    comm::Communicator& shards = *ranks().reduction(local().group(group).reduction).shards;
    reduction.work = shards.reduce_scatter(moved, arrives, comm::Reduction::sum, shard_granule);
  });
  return reduction;
}

void ShardedGradients::finish_all_but_newest(const Context& context) {
  while (in_flight_.size() > max_reductions_in_flight) finish_oldest(context);
}

void ShardedGradients::finish_oldest(const Context& context) {
  for (Reduction& reduction : in_flight_.front()) {
    communicate([&] { reduction.work.wait(context); });
    const Range mine = owned_range(reduction.group);
    const Tensor& sum = reduction.holder->shard;
    const bool is_first = !reduction.shard.data();
    const Tensor arrived = is_first ? sum : flat(reduction.shard, mine.count);
    cast_from_wire(context, reduction.wire, mine.begin, arrived);
    if (!is_first) kernels::add(context, sum, arrived, sum);
    release(std::move(reduction.full));
    release(std::move(reduction.shard));
  }
  in_flight_.pop_front();
}

void ShardedGradients::wait_reductions(const Context& context) {
  while (!in_flight_.empty()) finish_oldest(context);
}

std::unique_ptr<SimulatedGradients> ShardedGradients::simulated() const {
  return std::make_unique<SimulatedShardedGradients>(local(), precision(), ranks(), simulated_pool());
}

}  // namespace

std::unique_ptr<GradientStore> make_gradient_store(Device device, const LocalTable& local,
                                                   const Precision& precision, const LanePlan& plan,
                                                   const Groups& ranks) {
  if (local.shards_gradients()) return std::make_unique<ShardedGradients>(device, local, precision, ranks);
  return std::make_unique<WholeGradients>(device, local, precision, plan, ranks);
}

}  // namespace dt::parallel
