#include "train/evaluate/evaluation.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/exact_sum.hpp"
#include "base/numeric/integer.hpp"
#include "comm/exchange.hpp"
#include "data/read/loader.hpp"
#include "parallel/state/device_sums.hpp"
#include "tensor/host_tensor.hpp"
#include "train/evaluate/validation_windows.hpp"
#include "train/evaluate/window_batches.hpp"
#include "train/report/metrics_history.hpp"

namespace dt::train {

namespace {

/// Returns the micro-batches that a pipeline computes between two checks for signals. They are
/// enough to keep its stages busy.
std::int64_t rounds_between_stop_checks(const model::Layout& layout) {
  return layout.pp > 1 ? 4 * layout.pp : 1;
}

/// Returns the windows that the request takes.
/// Errors: input if there is none.
ValidationWindows require_windows(const data::Mixture& dataset, const EvaluationRequest& request) {
  ValidationWindows windows(dataset, request.sequence_length, request.micro_batch, request.max_windows);
  if (windows.total() > 0) return windows;
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("the validation split of {} has {} tokens, fewer than one window of {}", dataset.name(),
                  dataset.tokens(data::Split::validation), request.sequence_length + 1),
      "make the dataset with a larger --val-fraction");
}

/// Combines the exact sums and the targets of the sources.
Evaluation combine(const std::vector<ExactSum>& nll, const std::vector<std::int64_t>& targets,
                   const data::Mixture& dataset) {
  ExactSum sum;
  Evaluation result;
  for (std::size_t source = 0; source < nll.size(); ++source) {
    const auto tokens = static_cast<std::uint64_t>(targets[source]);
    sum.merge(nll[source]);
    result.tokens += tokens;
    if (nll.size() == 1 || tokens == 0) continue;
    result.sources.push_back(
        {dataset.source_name(source), nll[source].value() / static_cast<double>(tokens), tokens});
  }
  result.loss = result.tokens == 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : sum.value() / static_cast<double>(result.tokens);
  return result;
}

}  // namespace

EvaluationRequest evaluation_request(const plan::Plan& plan, std::function<int()> stop_signal) {
  EvaluationRequest request{.sequence_length = plan.sequence_length,
                            .mask_documents = plan.mask_documents,
                            .micro_batch = plan.micro_batch,
                            .max_windows = {},
                            .stop_signal = std::move(stop_signal)};
  if (plan.evaluation.batches)
    request.max_windows = static_cast<std::uint64_t>(*plan.evaluation.batches * plan.global_batch);
  return request;
}

void check_validation_targets(const data::Mixture& dataset, const EvaluationRequest& request) {
  const ValidationWindows windows(dataset, request.sequence_length, request.micro_batch, request.max_windows);
  if (windows.total() == 0 || has_targets(dataset, windows, request.sequence_length)) return;
  throw Error(
      ErrorKind::input,
      fmt::format("there is nothing to evaluate: none of the tokens in the {} validation windows of {} "
                  "is a target",
                  windows.total(), dataset.name()),
      "make the dataset with a larger --val-fraction, or with 0 for no validation, or use more "
      "--eval-batches");
}

Evaluation evaluate(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                    const comm::Ranks& ranks) {
  comm::Communicator& control = ranks.world;
  const ValidationWindows windows = require_windows(dataset, request);
  // Ranks divide whole micro-batches, so that each window shares its micro-batch with the same
  // windows on any number of ranks.
  const std::int64_t micro_batches = windows.num_micro_batches();
  const parallel::LocalTable& local = runtime.local();
  const int dp = local.layout().dp;
  const Range own = even_range(local.place().dp, dp, micro_batches);
  const std::int64_t rounds = ceil_div(micro_batches, dp);
  std::vector<ExactSum> nll(dataset.size());
  std::vector<ExactSum*> sums_of_sources;
  for (ExactSum& sum : nll) sums_of_sources.push_back(&sum);
  parallel::DeviceSums sums(runtime.context(), static_cast<int>(nll.size()));
  std::vector<std::int64_t> targets(dataset.size());
  WindowBatches batches;  // may be empty; other ranks may need this rank's shard of the weights
  parallel::StepHooks hooks;
  if (local.counts_loss()) {
    hooks.loss = [&](int micro_batch, const Tensor& nll_R) {
      sums.add(static_cast<int>(batches.sources[static_cast<std::size_t>(micro_batch)]), nll_R);
    };
  }
  Progress progress = ranks.console.progress("evaluating", windows.total(), "windows");
  const std::int64_t at_a_time = rounds_between_stop_checks(local.layout());
  for (std::int64_t round = 0; round < rounds; round += at_a_time) {
    std::int64_t signal = request.stop_signal ? request.stop_signal() : 0;
    const Tensor shared = host_tensor(signal);
    control.all_reduce(shared, shared, comm::Reduction::max).wait_host();
    if (signal != 0) return {.stopped_by = static_cast<int>(signal)};
    const std::int64_t end = std::min(rounds, round + at_a_time);
    batches = {};
    for (std::int64_t i = round; i < std::min(end, own.count); ++i)
      batches.add(runtime, dataset, request, windows.micro_batch(own.begin + i), targets);
    forward(runtime, batches, end - round, hooks);
    sums.drain_into(sums_of_sources);
    progress.set(std::min(windows.total(), static_cast<std::uint64_t>(end * dp * request.micro_batch)));
  }
  for (ExactSum& sum : nll) comm::all_reduce_sum(control, sum.digits());
  comm::all_reduce_sum(control, targets);
  return combine(nll, targets, dataset);
}

EvalRecord eval_record(std::int64_t step, const Evaluation& weights,
                       const std::optional<Evaluation>& average) {
  EvalRecord record{
      .step = step, .val_loss = weights.loss, .val_tokens = weights.tokens, .sources = weights.sources};
  if (!average) return record;
  record.ema_val_loss = average->loss;
  for (std::size_t i = 0; i < record.sources.size(); ++i)
    record.sources[i].ema_loss = average->sources[i].loss;
  return record;
}

bool is_evaluation_due(const plan::Plan& plan, const data::Mixture& dataset, std::int64_t step) {
  if (data::num_validation_windows(dataset, plan.sequence_length) == 0) return false;
  return step >= plan.total_steps || (plan.evaluation.every > 0 && step % plan.evaluation.every == 0);
}

bool is_evaluation_missing(const plan::Plan& plan, const data::Mixture& dataset, const run::RunDirectory& run,
                           std::int64_t step) {
  if (!is_evaluation_due(plan, dataset, step)) return false;
  const std::vector<run::Generation> claimed = run.generations();
  return !has_evaluation(run.path() / "metrics.jsonl", step, claimed.empty() ? 0 : claimed.back().number);
}

}  // namespace dt::train
