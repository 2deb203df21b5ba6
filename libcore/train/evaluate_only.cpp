#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "checkpoint/reader.hpp"
#include "comm/exchange.hpp"
#include "convert/weight_source.hpp"
#include "plan/action_lists.hpp"
#include "plan/choose_layout.hpp"
#include "plan/launch.hpp"
#include "plan/planner.hpp"
#include "plan/precision.hpp"
#include "run/run_directory.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/evaluate/logits.hpp"
#include "train/report/reporter.hpp"
#include "train/run.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/idle_ranks.hpp"
#include "train/start/run_tokenizer.hpp"
#include "train/start/staging.hpp"
#include "train/start/start.hpp"

namespace dt::train {

namespace {

/// Returns the path of the weights: --init-from, else the newest readable checkpoint that --resume
/// selects.
fs::path weights_path(const plan::Settings& settings, Console& console) {
  if (settings.resume.init_from) return *settings.resume.init_from;
  std::optional<run::RunDirectory> run;
  if (settings.resume.run) run.emplace(*settings.resume.run);
  std::vector<Candidate> candidates;
  bool is_pruned = true;
  while (std::exchange(is_pruned, false)) {
    candidates = resume_candidates(settings.resume, run ? &*run : nullptr);
    for (const Candidate& candidate : candidates) {
      const std::string why = candidate.required ? "" : run::why_incomplete(candidate.path);
      if (why.empty()) return candidate.path;
      // A running job that prunes has saved newer checkpoints since they were listed.
      is_pruned = run && checkpoint::is_removed(candidate.path) &&
                  candidate.path.parent_path() == run->checkpoints_path();
      if (is_pruned) break;
      console.warn("skipping {}: {}", candidate.path.string(), why);
    }
  }
  throw Error(candidates.empty() ? ErrorKind::usage : ErrorKind::input, "--eval-only finds no weights",
              "name weights with --init-from, a checkpoint with --resume, or a run that has one with --run");
}

/// Returns rank 0's choice of weights on all ranks.
fs::path choose_weights(const plan::Settings& settings, const comm::Ranks& ranks) {
  std::string path;
  comm::on_root(ranks, [&] {
    if (settings.evaluation.logits_file) require_parent_folder(*settings.evaluation.logits_file);
    path = weights_path(settings, ranks.console).string();
  });
  return comm::broadcast_text(ranks.world, path);
}

/// Returns whether all ranks have the error. If a single rank has it, the others would not answer.
bool all_ranks_know(const Error& error, const comm::Ranks& ranks) {
  return ranks.world.size() == 1 || dynamic_cast<const comm::SharedError*>(&error) != nullptr;
}

/// Returns whether a checkpoint that was found by --resume auto is gone. A running job of the run
/// has then pruned it and has newer checkpoints.
bool was_pruned(const plan::Settings& settings, const fs::path& checkpoint, const comm::Ranks& ranks) {
  if (settings.resume.init_from || settings.resume.from != "auto" || !settings.resume.run) return false;
  const std::int64_t is_gone = ranks.is_root() && checkpoint::is_removed(checkpoint) ? 1 : 0;
  return comm::broadcast_number(ranks.world, is_gone) != 0;
}

/// Returns a checkpoint's state, or the state before any step for other weights.
checkpoint::TrainingState state_of(const fs::path& weights) {
  if (!path_exists(weights / checkpoint::manifest_name)) return {};
  return checkpoint::load_manifest(weights).state;
}

/// Returns "run/checkpoints/step-00000100.g1 (step 100)".
std::string describe(const fs::path& weights, const checkpoint::TrainingState& state) {
  return state.step > 0 ? fmt::format("{} (step {})", weights.string(), state.step) : weights.string();
}

/// Evaluates the weights at `path`, and returns the exit code.
/// Collective: all of `ranks`.
int evaluate_weights(plan::Settings settings, const fs::path& path, const data::Mixture& dataset,
                     const StopSignals& signals, const comm::Ranks& ranks) {
  const plan::Launch launch = plan::find_launch(settings, ranks, ranks.world.size());
  plan::Plan plan;
  std::unique_ptr<convert::WeightSource> source, average_source;
  checkpoint::TrainingState state;
  comm::run_collectively(ranks.world, [&] {
    state = state_of(path);
    if (!settings.sequence_length && state.sequence_length > 0)
      settings.sequence_length = state.sequence_length;
    source = convert::open_weights(path);
    average_source = convert::open_average(path);
    if (settings.resume.model) check_same_spec(model::load_model_spec(*settings.resume.model), *source, path);
    plan = plan::Planner(settings, source->spec(), &dataset, launch, plan::Planner::Purpose::evaluation)
               .fitting_plan();
  });
  ranks.console.info("evaluating {} on samples of {} tokens", describe(path, state), plan.sequence_length);
  const EvaluationRequest request = evaluation_request(plan, [&] { return signals.received(); });
  comm::on_root(ranks, [&] { check_validation_targets(dataset, request); });
  plan.arithmetic = plan::choose_arithmetic(plan, &state, ranks);
  const auto groups = plan::make_groups(plan, ranks.world);
  std::unique_ptr<ModelRuntime> runtime;
  comm::run_collectively(ranks.world, [&] {
    runtime = std::make_unique<ModelRuntime>(plan, ModelRuntime::Purpose::evaluation, *groups);
    runtime->load_weights(*source);
  });
  check_same_state(ranks, runtime->spec(), runtime->context(), runtime->storage());
  if (const std::string remark = source->remark(); !remark.empty()) ranks.console.warn("{}", remark);

  if (plan.evaluation.logits_file)
    write_logits(*runtime, dataset, request, plan.evaluation.logits_sequences, *plan.evaluation.logits_file,
                 ranks);
  const auto result = evaluate(*runtime, dataset, request, ranks);
  std::optional<Evaluation> average;
  if (average_source && result.stopped_by == 0) {
    try {
      comm::run_collectively(ranks.world, [&] { runtime->load_weights(*average_source); });
      average = evaluate(*runtime, dataset, request, ranks);
    } catch (const Error& error) {
      if (!all_ranks_know(error, ranks) || !was_pruned(settings, path, ranks)) throw;
      ranks.console.warn(
          "{} was removed by a running job before its averaged weights were read: they are not "
          "evaluated",
          path.string());
    }
  }
  const int stopped_by = average ? average->stopped_by : result.stopped_by;
  if (stopped_by != 0) {
    ranks.console.warn("stopped by {} before the evaluation finished", signal_name(stopped_by));
    return 128 + stopped_by;
  }
  comm::on_root(ranks, [&] {
    EvalRecord record = eval_record(state.step, result, average);
    if (state.step > 0) record.checkpoint = path.string();
    Reporter(ranks.console, std::nullopt).eval(record);
  });
  return 0;
}

}  // namespace

int evaluate_only(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                  const StopSignals& signals, const comm::Ranks& ranks) {
  ranks.world.engine().set_timeout(settings.comm_timeout.seconds);
  fs::path path = choose_weights(settings, ranks);
  const StagedData staged = stage_data(
      settings.data, [&] { return signals.received() != 0; }, ranks);
  std::optional<data::Mixture> dataset;
  comm::run_collectively(ranks.world, [&] {
    dataset.emplace(settings.data.mixture, staged.copies, staged.shards_to_read_ahead);
    plan::num_ranks_used(settings, ranks.world.size());
  });
  check_same_settings(ranks, asked, *dataset);
  comm::on_root(ranks, [&] { check_same_tokens(path, dataset->source_name(0), ranks.console); });
  return run_on_used_ranks(settings, ranks, [&](const comm::Ranks& used) {
    for (;; path = choose_weights(settings, used)) {
      try {
        return evaluate_weights(settings, path, *dataset, signals, used);
      } catch (const Error& error) {
        if (!all_ranks_know(error, used) || !was_pruned(settings, path, used)) throw;
        used.console.info("{} was removed by a running job: using a newer checkpoint", path.string());
      }
    }
  });
}

}  // namespace dt::train
