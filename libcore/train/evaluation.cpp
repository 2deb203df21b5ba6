#include "train/evaluation.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/exact_sum.hpp"
#include "base/files.hpp"
#include "base/hdf5_file.hpp"
#include "comm/exchange.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/builders.hpp"
#include "train/reporter.hpp"

namespace dt::train {

namespace {

/// The forwards of one micro-batch, or none.
parallel::ActionList forwards(const ModelRuntime& runtime, int num_micro_batches, int zero) {
  return parallel::build_evaluation(
      {.num_units = runtime.num_units(), .num_micro_batches = num_micro_batches, .rounds = 1, .zero = zero});
}

/// Runs the forwards of validation windows [first, first + count) as one micro-batch.
void forward_windows(ModelRuntime& runtime, const data::TokenDataset& dataset,
                     const EvaluationRequest& request, std::uint64_t first, std::int64_t count,
                     const parallel::StepHooks& hooks) {
  data::Batch batch =
      data::validation_batch(dataset, request.sequence_length, first, count, request.mask_documents);
  runtime.executor().run(forwards(runtime, 1, runtime.local().layout().zero),
                         runtime.micro_batches(batch, count), 0, hooks);
}

/// How many the request takes. Error{input}: there is none.
std::uint64_t num_windows(const data::TokenDataset& dataset, const EvaluationRequest& request) {
  const std::uint64_t available = data::num_validation_windows(dataset, request.sequence_length);
  const std::uint64_t windows = std::min(available, request.max_windows.value_or(available));
  if (windows > 0) return windows;
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("the validation split of {} has {} tokens, fewer than one window of {}",
                  dataset.folder().string(), dataset.split(data::Split::validation).tokens,
                  request.sequence_length + 1),
      "shard the data with a larger --val-fraction");
}

}  // namespace

Evaluation evaluate(ModelRuntime& runtime, const data::TokenDataset& dataset,
                    const EvaluationRequest& request, const comm::Ranks& ranks) {
  comm::Communicator& control = ranks.world;
  const std::uint64_t windows = num_windows(dataset, request);
  const auto micro_batch = static_cast<std::uint64_t>(request.micro_batch);
  // Whole micro-batches are divided, so that each window is computed in the same company whatever the ranks.
  const auto micro_batches = static_cast<std::int64_t>((windows + micro_batch - 1) / micro_batch);
  const parallel::LocalTable& local = runtime.local();
  const int dp = local.layout().dp;
  const Part own = part_of(local.place().dp, dp, micro_batches);
  const std::int64_t rounds = (micro_batches + dp - 1) / dp;
  ExactSum nll;
  parallel::StepHooks hooks;
  if (local.counts_loss()) hooks.loss = [&](int, const Tensor& nll_R) { nll.add(nll_R.span<double>()); };
  Progress progress = ranks.console.progress("evaluating", windows, "windows");
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::int64_t signal = request.stop_signal ? request.stop_signal() : 0;
    const Tensor shared(&signal, DType::i64, Shape{1});
    control.all_reduce(shared, shared, comm::Reduction::max).wait();
    if (signal != 0) return {.stopped_by = static_cast<int>(signal)};
    if (round >= own.count) {  // the others may need this rank's part of the weights
      runtime.executor().run(forwards(runtime, 0, runtime.local().layout().zero), {}, 0, {});
      continue;
    }
    const std::uint64_t first = static_cast<std::uint64_t>(own.begin + round) * micro_batch;
    const auto count = static_cast<std::int64_t>(std::min(micro_batch, windows - first));
    forward_windows(runtime, dataset, request, first, count, hooks);
    progress.set(std::min(windows, static_cast<std::uint64_t>((round + 1) * dp) * micro_batch));
  }
  comm::all_sum(control, nll.digits());
  const std::uint64_t tokens = windows * static_cast<std::uint64_t>(request.sequence_length);
  return {.loss = nll.value() / static_cast<double>(tokens), .tokens = tokens};
}

bool is_evaluation_due(const Settings& settings, const Plan& plan, const data::TokenDataset& dataset,
                       std::int64_t step) {
  if (data::num_validation_windows(dataset, plan.sequence_length) == 0) return false;
  return step >= plan.total_steps || (settings.eval_every > 0 && step % settings.eval_every == 0);
}

bool is_evaluation_missing(const Settings& settings, const Plan& plan, const data::TokenDataset& dataset,
                           const run::RunDirectory& run, std::int64_t step) {
  return is_evaluation_due(settings, plan, dataset, step) &&
         !has_evaluation(run.path() / "metrics.jsonl", step);
}

void write_logits(ModelRuntime& runtime, const data::TokenDataset& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file) {
  const std::uint64_t available = data::num_validation_windows(dataset, request.sequence_length);
  if (static_cast<std::uint64_t>(num_sequences) > available) {
    throw input_error("--logits-sequences {} exceeds the {} windows of the validation split", num_sequences,
                      available);
  }
  const auto n = static_cast<std::uint64_t>(num_sequences);
  const auto length = static_cast<std::uint64_t>(request.sequence_length);
  const auto vocabulary = static_cast<std::uint64_t>(runtime.spec().vocabulary);
  AtomicFile target(file);
  Hdf5Writer writer(target.path());
  writer.declare("/logits", DType::f32, {n, length, vocabulary});
  writer.declare("/tokens", DType::i32, {n, length});
  writer.layout();
  const Arena::Scope scope(runtime.context().scratch());
  const Shape shape{request.sequence_length, runtime.spec().vocabulary};
  const Tensor floats = runtime.context().scratch().allocate(DType::f32, shape);
  const Tensor logits = runtime.context().scratch().allocate(runtime.storage().precision().compute, shape);
  for (std::uint64_t i = 0; i < n; ++i) {
    data::Batch batch =
        data::validation_batch(dataset, request.sequence_length, i, 1, request.mask_documents);
    writer.write("/tokens", i * length * sizeof(std::int32_t), std::as_bytes(std::span(batch.tokens_BT)));
    std::vector<model::MicroBatch> micro_batches = runtime.micro_batches(batch, 1);
    micro_batches.front().logits_RV = logits;
    runtime.executor().run(forwards(runtime, 1, 0), micro_batches, 0, {});
    kernels::convert(runtime.context(), logits, floats);
    writer.write("/logits", i * floats.bytes(), floats.span_bytes());
  }
  writer.close();
  target.commit(/*overwrite=*/true);
}

}  // namespace dt::train
