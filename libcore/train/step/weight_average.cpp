#include "train/step/weight_average.hpp"

#include <algorithm>

#include "kernels/elementwise.hpp"
#include "plan/action_lists.hpp"

namespace dt::train {

namespace {

/// Calls body(group, average) for each group of whose average this rank has a shard.
template <class Body>
void for_averages(const parallel::ModelStorage& storage, const Body& body) {
  const std::optional<std::size_t> kind = storage.find_kind(kernels::average_kind);
  if (!kind) return;
  for (int group = 0; group < storage.num_groups(); ++group) {
    if (storage.local().group(group).has_state) body(group, storage.group_states(group)[*kind]);
  }
}

/// Exchanges the elements of two tensors, a bounded number at a time.
void exchange(const Context& context, const Tensor& a, const Tensor& b) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 18;
  const Arena::Scope scope(context.scratch());
  const Tensor kept = context.scratch().allocate(a.dtype(), {std::min(most_elements, a.numel())});
  for (std::int64_t begin = 0; begin < a.numel(); begin += most_elements) {
    const std::int64_t count = std::min(most_elements, a.numel() - begin);
    const Tensor part_a = a.flat(begin, count), part_b = b.flat(begin, count), part = kept.flat(0, count);
    kernels::copy(context, part_a, part);
    kernels::copy(context, part_b, part_a);
    kernels::copy(context, part, part_b);
  }
}

}  // namespace

void start_average(const Context& context, const parallel::ModelStorage& storage) {
  for_averages(storage, [&](int group, const Tensor& average) {
    kernels::copy(context, storage.group_masters(group), average);
  });
}

void update_average(const Context& context, double ema, const parallel::ModelStorage& storage) {
  for_averages(storage, [&](int group, const Tensor& average) {
    optim::update_average(context, ema, storage.group_masters(group), average);
  });
}

void activate(ActiveWeights weights, ModelRuntime& runtime, const plan::Plan& plan) {
  parallel::ModelStorage& storage = runtime.storage();
  const Context& context = runtime.context();
  const auto change = [&] {
    for_averages(storage, [&](int group, const Tensor& average) {
      const Tensor computed = storage.group_weights(group);
      if (!storage.precision().has_masters())
        exchange(context, computed, average);
      else
        kernels::cast(context, weights == ActiveWeights::average ? average : storage.group_masters(group),
                      computed);
    });
    storage.weights().mark_updated();
  };
  runtime.executor().run(parallel::build_weight_change(plan::pipeline_of(plan), plan.place.pp), {}, 0,
                         {.loss = {}, .control = {}, .step = change});
  context.synchronize();
}

}  // namespace dt::train
