#include "train/step/non_finite.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/numeric/visit_dtype.hpp"
#include "comm/exchange.hpp"
#include "plan/action_lists.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

/// A rank's finding. The lowest key of all ranks was first.
struct Finding {
  std::int64_t key = none;
  std::string text;
};

bool is_finite(const Context& context, const Tensor& tensor) {
  const HostMirror here(context, tensor);
  return visit_dtype(FloatTypes(), tensor.dtype(), "search for non-finite values", [&](auto element) {
    using T = decltype(element);
    return std::ranges::all_of(here.tensor().span<T>(),
                               [](T v) { return std::isfinite(static_cast<ComputeType<T>>(v)); });
  });
}

Finding find_in_outputs(const plan::Plan& plan, ModelRuntime& runtime,
                        std::span<const model::MicroBatch> micro_batches) {
  const parallel::StepShape shape = plan::step_shape(plan, runtime.num_units());
  const auto lists = parallel::build_evaluations(shape, plan::pipeline_of(plan));
  Finding first;
  parallel::StepHooks hooks;
  hooks.output = [&](int unit, int number, const Tensor& y) {
    const std::int64_t key = std::int64_t{number} * runtime.num_units() + unit;
    if (key >= first.key || is_finite(runtime.context(), y)) return;
    const auto samples = micro_batches[static_cast<std::size_t>(number - shape.first_micro_batch)].samples_B;
    first = {key, fmt::format("the output of {} on rank {}, samples {} to {}", runtime.unit_name(unit),
                              plan.launch.rank, samples.front(), samples.back())};
  };
  runtime.executor().run(lists[static_cast<std::size_t>(plan.place.pp)], micro_batches,
                         shape.first_micro_batch, hooks);
  return first;
}

/// Searches gradients, which are computed from the last unit to the first.
Finding find_in_gradients(const plan::Plan& plan, ModelRuntime& runtime, std::uint64_t first_sample) {
  Finding first;
  const parallel::LocalTable& local = runtime.local();
  for (int group = 0; group < runtime.storage().num_groups(); ++group) {
    const int unit = local.group(group).holders.back();
    const std::int64_t key = runtime.num_units() - unit;
    if (key < first.key && !is_finite(runtime.context(), runtime.storage().group_gradient(group)))
      first = {key, fmt::format("the gradient of {} on rank {}, samples {} to {}", runtime.unit_name(unit),
                                plan.launch.rank, first_sample,
                                first_sample + static_cast<std::uint64_t>(plan.global_batch) - 1)};
  }
  return first;
}

/// Returns the text of the first finding of all ranks; "" if there is none.
std::string earliest_finding(const Finding& own, comm::Communicator& control) {
  std::int64_t key = own.key;
  const Tensor least = host_tensor(key);
  control.all_reduce(least, least, comm::Reduction::min).wait_host();
  for (const std::string& text : comm::gather_texts(control, own.key == key ? own.text : "")) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

std::string locate_first_non_finite(const plan::Plan& plan, ModelRuntime& runtime,
                                    std::span<const model::MicroBatch> micro_batches,
                                    std::uint64_t first_sample, comm::Communicator& control) {
  const std::string output = earliest_finding(find_in_outputs(plan, runtime, micro_batches), control);
  return output.empty() ? earliest_finding(find_in_gradients(plan, runtime, first_sample), control) : output;
}

std::string describe_non_finite(std::int64_t step, const Decision& decision, const std::string& first) {
  const double loss = std::isfinite(decision.total_loss()) ? decision.loss : decision.total_loss();
  return fmt::format("step {}: loss {}, gradient norm {}: not finite{}", step, loss, decision.grad_norm,
                     first.empty() ? "" : fmt::format(" (first in {})", first));
}

}  // namespace dt::train
