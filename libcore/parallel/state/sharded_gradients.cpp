#include "parallel/state/sharded_gradients.hpp"

#include <set>
#include <utility>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::parallel {

namespace {

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

}  // namespace

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
    reduction.work = ranks().shards()->reduce_scatter(moved, arrives, comm::Reduction::sum, shard_granule);
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
  return std::make_unique<SimulatedShardedGradients>(local(), precision(), ranks().has_replicas(),
                                                     simulated_pool());
}

}  // namespace dt::parallel
