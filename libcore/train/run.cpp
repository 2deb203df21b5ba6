#include "train/run.hpp"

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/diagnostics/watchdog.hpp"
#include "comm/exchange.hpp"
#include "data/read/mixture.hpp"
#include "plan/choose_layout.hpp"
#include "plan/launch.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/report/reporter.hpp"
#include "train/start/candidates.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/idle_ranks.hpp"
#include "train/start/run_record.hpp"
#include "train/start/run_tokenizer.hpp"
#include "train/start/staging.hpp"
#include "train/start/start.hpp"
#include "train/start/start_summary.hpp"
#include "train/trainer.hpp"

namespace dt::train {

namespace {

bool belongs_to_run(const fs::path& checkpoint, const run::RunDirectory& run) {
  return fs::canonical(checkpoint).parent_path() == fs::weakly_canonical(run.checkpoints_path());
}

/// Returns the name of a checkpoint in its successors' lineage: its name within the run, its path
/// elsewhere.
std::string lineage_name(const fs::path& checkpoint, const run::RunDirectory& run) {
  if (checkpoint.empty()) return "";
  const fs::path path = fs::canonical(checkpoint);
  return belongs_to_run(checkpoint, run) ? path.filename().string() : path.string();
}

/// Returns whether a run is complete, with its last evaluation. It then needs no new generation.
bool is_complete(const Start& start, const data::Mixture& dataset, const run::RunDirectory& run) {
  return !start.checkpoint.empty() && start.state.step >= start.plan.total_steps &&
         belongs_to_run(start.checkpoint, run) &&
         !is_evaluation_missing(start.plan, dataset, run, start.state.step);
}

/// Starts a watchdog if ranks are processes, since single processes can be lost.
std::unique_ptr<comm::Watchdog> start_watchdog(const plan::Plan& plan, const run::RunDirectory& run,
                                               const run::Generation& own, const comm::Ranks& ranks) {
  if (!ranks.are_processes) return nullptr;
  const fs::path folder = run.path() / "flight";
  const std::string start_name = fmt::format("g{}", own.number);
  comm::on_root(ranks, [&] {
    create_folders(folder);
    comm::remove_stale_heartbeats(folder, start_name);
  });
  ranks.world.engine().set_timeout(plan.comm_timeout_s + comm::watchdog_grace_s);
  return std::make_unique<comm::Watchdog>(comm::WatchdogSettings{.folder = folder,
                                                                 .start_name = start_name,
                                                                 .rank = ranks.world.rank(),
                                                                 .size = ranks.world.size(),
                                                                 .timeout_s = plan.comm_timeout_s},
                                          ranks.world.engine().shared_recorder(), ranks.abort);
}

/// Warns of other users that may write to the run directory, since dt trusts its content.
void warn_of_other_writers(const run::RunDirectory& run, Console& console) {
  const std::string writers = run.other_writers();
  if (!writers.empty())
    console.warn("{} may write to {} and can change what this run resumes from", writers,
                 run.path().string());
}

void remove_leftovers(const run::RunDirectory& run, Console& console) {
  const run::RemovalResult done = run.remove_leftovers();
  for (const fs::path& leftover : done.removed)
    console.info("removed {}, left behind by an interrupted save", leftover.string());
  for (const checkpoint::Problem& problem : done.problems)
    console.warn("cannot remove {}, left behind by an interrupted save: {}", problem.where, problem.what);
}

/// Reports that the run directory is a copy, or was moved. The start then uses the run.json found
/// here, which came from another folder.
void report_copied_run(const run::RunDirectory& run, Console& console) {
  const std::vector<run::Generation> claimed = run.generations();
  std::error_code error;
  if (claimed.empty() || claimed.back().folder.empty() || !fs::exists(run.path() / "run.json", error)) return;
  const fs::path here = fs::canonical(run.path());
  if (here == claimed.back().folder) return;
  console.info("{} was copied or moved from {}: using the run.json found here, {}", run.path().string(),
               claimed.back().folder, (here / "run.json").string());
}

std::int64_t newest_generation(const run::RunDirectory& run) {
  const std::vector<run::Generation> generations = run.generations();
  return generations.empty() ? 0 : generations.back().number;
}

/// Refuses if another start has continued the run between this process's look at the lineage and
/// its claim.
void require_no_newer_generation(const run::RunDirectory& run, std::int64_t newest_seen,
                                 const run::Generation& own) {
  for (const run::Generation& other : run.generations()) {
    if (other.number <= newest_seen || other.number == own.number) continue;
    run.withdraw(own);
    throw Error(ErrorKind::environment,
                fmt::format("another dt-train started in {} in the meantime: {}", run.path().string(),
                            run::describe(other)),
                "start again to resume from its newest checkpoint");
  }
}

/// Warns if --resume names another checkpoint than the run's newest. A script that repeats the
/// command would lose the run's progress each time.
void warn_of_own_checkpoints(const plan::ResumeRequest& request, const run::RunDirectory& run,
                             Console& console) {
  if (request.from == "auto" || request.from == "never") return;
  const std::vector<checkpoint::CheckpointEntry> own = run.lineage();
  std::error_code error;
  if (own.empty() || fs::equivalent(own.front().path, request.from, error)) return;
  console.warn("{} has its own checkpoints, the newest {}: --resume auto would resume from that",
               run.path().string(), own.front().path.filename().string());
}

/// The claim on a run directory. Rank 0 holds it while the run lives, and shares the generation.
struct ClaimedRun {
  run::Generation generation;
  std::optional<run::RunLock> live_run;
};

/// Claims the run directory. Only on rank 0.
void claim_run(ClaimedRun& owned, const run::RunDirectory& run, const Start& start, std::int64_t newest_seen,
               Console& console) {
  run.create();
  warn_of_other_writers(run, console);
  check_record(run.path());
  owned.generation =
      run.claim(lineage_name(start.checkpoint, run), start.checkpoint.empty() ? 0 : start.state.step);
  owned.live_run.emplace(run, owned.generation);
  require_no_newer_generation(run, newest_seen, owned.generation);
  if (owned.live_run->is_supported()) {
    remove_leftovers(run, console);
  } else {
    console.warn(
        "{} does not support file locks: a second job on this run would not be detected at its start",
        run.path().string());
  }
}

void record_options(const run::RunDirectory& run, const std::vector<OptionValue>& asked, bool goes_on,
                    const Start& start, const run::Generation& generation, Console& console) {
  for (const OptionChange& change :
       record_run(run.path(), asked, goes_on, start.plan.layout, generation.number, start.state.step)) {
    console.info("--{}: {} → {}", change.option, change.from.empty() ? "unset" : change.from,
                 change.to.empty() ? "unset" : change.to);
  }
}

/// Copies rank 0's generation to every rank. Its claim proves that all ranks see the same run
/// directory.
void broadcast_generation(run::Generation& generation, const run::RunDirectory& run,
                          const comm::Ranks& ranks) {
  generation.number = comm::broadcast_number(ranks.world, generation.number);
  generation.continues = comm::broadcast_text(ranks.world, generation.continues);
  check_same_view(ranks, run.generation_path(generation.number));
}

/// Trains. `was_surveyed` says that these and other ranks have been asked what their nodes hold.
/// Collective: all of `ranks`.
int train_on_ranks(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                   const data::Mixture& dataset, const StopSignals& signals, bool was_surveyed,
                   const comm::Ranks& ranks) {
  const plan::Launch launch = plan::find_launch(settings, ranks, ranks.world.size());
  const run::RunDirectory run(*settings.resume.run);
  std::int64_t newest_seen = 0;
  comm::on_root(ranks, [&] {
    run::RunLock::require_not_held(run);
    run.restore_replaced();
    warn_of_own_checkpoints(settings.resume, run, ranks.console);
    report_copied_run(run, ranks.console);
    newest_seen = newest_generation(run);
  });
  const run::Promotion promotion(ranks, settings.save.local_folder, run);
  const std::vector<Candidate> candidates =
      find_candidates(settings, run, promotion.find(was_surveyed), ranks);
  Start start = prepare_start(settings, dataset, candidates, promotion, launch, ranks);
  check_same_state(ranks, start.runtime->spec(), start.runtime->context(), start.runtime->storage());
  const fs::path weights =
      start.checkpoint.empty() ? fs::path(start.plan.resume.init_from.value_or("")) : start.checkpoint;
  comm::on_root(ranks, [&] {
    check_same_tokens(weights, dataset.source_name(0), ranks.console);
    // A run that has trained continues with its data as it is.
    if (start.state.step == 0) check_validation_targets(dataset, evaluation_request(start.plan));
  });

  std::int64_t nothing_left = 0;
  comm::on_root(ranks, [&] { nothing_left = is_complete(start, dataset, run) ? 1 : 0; });
  if (comm::broadcast_number(ranks.world, nothing_left) != 0) {
    newest_seen = comm::broadcast_number(ranks.world, newest_seen);
    if (start.skipped.empty()) promotion.clear(newest_seen);
    ranks.console.info("{} is at step {} and ends at step {}: nothing is left to do", run.path().string(),
                       start.state.step, start.plan.total_steps);
    return 0;
  }
  const std::vector<std::string> hosts = comm::gather_texts(ranks.world, host_name());
  if (ranks.is_root()) print_summary(start, dataset, hosts, ranks.console);
  ClaimedRun owned;
  comm::on_root(ranks, [&] {
    claim_run(owned, run, start, newest_seen, ranks.console);
    store_tokenizer(run, dataset.source_name(0), weights, start.plan.spec.special.eos, ranks.console);
    record_options(run, asked, start.plan.resume.from != "never", start, owned.generation, ranks.console);
  });
  broadcast_generation(owned.generation, run, ranks);
  const auto watchdog = start_watchdog(start.plan, run, owned.generation, ranks);
  std::optional<Trainer> trainer;  // outlives the handlers, since its destructor may wait for a file
  try {
    trainer.emplace(dataset, run, owned.generation, owned.live_run ? &*owned.live_run : nullptr, start,
                    signals, ranks);
    return trainer->run();
  } catch (const comm::SharedError&) {
    throw;  // all ranks know it
  } catch (...) {
    const Error error = current_error();
    if (watchdog) watchdog->write_evidence(error.message());
    if (ranks.are_processes) ranks.abort(error);  // the others must not wait for this rank
    throw;
  }
}

}  // namespace

int run_training(const plan::Settings& given, const std::vector<OptionValue>& asked,
                 const StopSignals& signals, const comm::Ranks& ranks) {
  ranks.world.engine().set_timeout(given.comm_timeout.seconds);
  plan::Settings settings = given;
  settings.resume.from = effective_resume(given, ranks);
  const StagedData staged = stage_data(
      settings.data, [&] { return signals.received() != 0; }, ranks);
  std::optional<data::Mixture> dataset;
  bool all_take_part = true;
  comm::run_collectively(ranks.world, [&] {
    dataset.emplace(settings.data.mixture, staged.copies, staged.shards_to_read_ahead);
    all_take_part = plan::num_ranks_used(settings, ranks.world.size()) == ranks.world.size();
  });
  check_same_settings(ranks, asked, *dataset);
  if (!all_take_part) promote_local_checkpoint(settings, ranks);
  const int code = run_on_used_ranks(settings, ranks, [&](const comm::Ranks& used) {
    return train_on_ranks(settings, asked, *dataset, signals, !all_take_part, used);
  });
  if (!all_take_part) remove_older_local_checkpoints(settings, ranks);
  return code;
}

}  // namespace dt::train
