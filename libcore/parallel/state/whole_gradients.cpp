#include "parallel/state/whole_gradients.hpp"

#include "base/error.hpp"

namespace dt::parallel {

namespace {

/// Returns whether this is the embedding's gradient of a tied table. It has values for the tokens
/// that a step saw and zeros elsewhere, and is read once. (Buffers that are read or written whole
/// are slower in small pages.)
bool is_beside_another(const LocalGroup& group, const model::UnitSpec& unit) {
  return group.holders.size() > 1 && unit.kind == model::UnitKind::embedding;
}

class SimulatedWholeGradients final : public SimulatedGradients {
 public:
  using SimulatedGradients::SimulatedGradients;

  void acquire(int) override {}
  void reduce(int unit) override {
    for (const int group : local().groups_of(unit)) {
      if (local().group(group).sharding.shards_optimizer() || has_replicas())
        hold_wire(local().group(group).numel);
    }
  }
  void wait_reductions() override { release_wires(); }
};

}  // namespace

WholeGradients::WholeGradients(Device device, const LocalTable& local, const Precision& precision,
                               const LanePlan& plan, const Groups& ranks)
    : GradientStore(device, local, precision, ranks) {
  for (int group = 0; group < num_groups(); ++group) {
    const LocalGroup& spec = local.group(group);
    const bool is_alone = !spec.sharding.shards_optimizer() && !ranks.has_replicas() && plan.depth() <= 1;
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
  const bool scatters = local().group(group).sharding.shards_optimizer();
  if (!scatters && !ranks().has_replicas()) return;
  const Tensor moved = cast_to_wire(context, total, holder.wire);
  communicate([&] {
    holder.works.push_back(scatters
                               ? ranks().shards()->reduce_scatter(moved, moved.flat(mine.begin, mine.count),
                                                                  comm::Reduction::sum, shard_granule)
                               : ranks().replicas()->all_reduce(moved, moved));
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
  return std::make_unique<SimulatedWholeGradients>(local(), precision(), ranks().has_replicas(),
                                                   simulated_pool());
}

}  // namespace dt::parallel
