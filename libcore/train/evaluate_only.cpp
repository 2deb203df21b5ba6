#include "train/evaluate_only.hpp"

#include <optional>

#include "base/error.hpp"
#include "base/signals.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/run_directory.hpp"
#include "checkpoint/weight_source.hpp"
#include "train/evaluation.hpp"
#include "train/reporter.hpp"
#include "train/start.hpp"

namespace dt::train {

namespace {

/// Where the weights lie: --init-from, else the newest checkpoint that --resume leads to and that can be
/// read.
fs::path weights_path(const Settings& settings, Console& console) {
  if (settings.init_from) return *settings.init_from;
  std::optional<checkpoint::RunDirectory> run;
  if (settings.run) run.emplace(*settings.run);
  const std::vector<Candidate> candidates = resume_candidates(settings, run ? &*run : nullptr);
  for (const Candidate& candidate : candidates) {
    const std::string why = candidate.required ? "" : checkpoint::why_incomplete(candidate.path);
    if (why.empty()) return candidate.path;
    console.warn("passing over {}: {}", candidate.path.string(), why);
  }
  throw Error(candidates.empty() ? ErrorKind::usage : ErrorKind::input, "--eval-only finds no weights",
              "name them with --init-from, or a checkpoint with --resume, or a run that has one with --run");
}

std::int64_t step_of(const fs::path& weights) {
  return fs::exists(weights / "manifest.json") ? checkpoint::load_manifest(weights).state.step : 0;
}

}  // namespace

int evaluate_only(const Settings& settings, Console& console) {
  const StopSignals signals;
  const data::TokenDataset dataset(settings.data);
  const fs::path path = weights_path(settings, console);
  const auto source = checkpoint::open_weights(path);
  if (settings.model) check_same_spec(model::load_model_spec(*settings.model), source->spec(), path);
  const Plan plan = make_evaluation_plan(settings, source->spec(), dataset);
  ModelRuntime runtime(plan, ModelRuntime::Purpose::evaluation);
  runtime.load_weights(*source);

  EvaluationRequest request{.sequence_length = plan.sequence_length,
                            .micro_batch = plan.micro_batch,
                            .max_windows = {},
                            .interrupted = [&] { return signals.received() != 0; }};
  if (settings.eval_batches)
    request.max_windows = static_cast<std::uint64_t>(*settings.eval_batches * plan.global_batch);
  if (settings.logits_out)
    write_logits(runtime, dataset, request, settings.logits_sequences, *settings.logits_out);
  const auto result = evaluate(runtime, dataset, request, console);
  if (!result) {
    console.warn("stopped by {} before the evaluation was done", signal_name(signals.received()));
    return 128 + signals.received();
  }
  Reporter(console, std::nullopt)
      .eval({.step = step_of(path), .val_loss = result->loss, .val_tokens = result->tokens});
  return 0;
}

}  // namespace dt::train
