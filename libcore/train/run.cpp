#include "train/run.hpp"

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/system/numa.hpp"
#include "base/text/counted.hpp"
#include "base/text/text.hpp"
#include "comm/diagnostics/watchdog.hpp"
#include "comm/exchange.hpp"
#include "data/read/mixture.hpp"
#include "model/parameter_table.hpp"
#include "plan/action_lists.hpp"
#include "plan/attention.hpp"
#include "plan/choose_layout.hpp"
#include "plan/device.hpp"
#include "plan/step_range.hpp"
#include "plan/time/forecast.hpp"
#include "run/run_directory.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/report/metrics_history.hpp"
#include "train/report/reporter.hpp"
#include "train/report/sources.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/idle_ranks.hpp"
#include "train/start/run_record.hpp"
#include "train/start/run_tokenizer.hpp"
#include "train/start/staging.hpp"
#include "train/start/start.hpp"
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
bool is_complete(const Start& start, const plan::Settings& settings, const data::Mixture& dataset,
                 const run::RunDirectory& run) {
  return !start.checkpoint.empty() && start.state.step >= start.plan.total_steps &&
         belongs_to_run(start.checkpoint, run) &&
         !is_evaluation_missing(settings, start.plan, dataset, run, start.state.step);
}

/// Reports each stage's ranks. For a lost rank, a launcher reports only its number.
void announce_stages(const plan::Plan& plan, Console& console) {
  if (plan.layout.pp == 1) return;
  const int each = plan.layout.size() / plan.layout.pp;
  for (int stage = 0; stage < plan.layout.pp; ++stage) {
    const int first = stage * each, last = first + each - 1;
    const std::string ranks =
        each == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, last);
    console.info("{}: {}", ranks, plan::describe_stage(plan, stage));
  }
}

std::uint64_t to_count(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::string describe_model(const model::ModelSpec& spec) {
  return fmt::format("{}, {}, hidden {}, {}", spec.family, pluralize(spec.layers, "layer"), spec.hidden,
                     pluralize(model::ParameterTable(spec).num_parameters(), "parameter"));
}

/// Returns "267,943 tokens to train on, 35,150 to validate; 2.29 epochs".
std::string describe_data(const plan::Plan& plan, const data::Mixture& mixture) {
  const std::uint64_t tokens = mixture.tokens(data::Split::train);
  const std::string epochs =
      mixture.size() > 1 || tokens == 0
          ? ""
          : fmt::format("; {:.3g} epochs in all", static_cast<double>(plan.total_steps) *
                                                      static_cast<double>(plan.tokens_per_step()) /
                                                      static_cast<double>(tokens));
  return fmt::format("{} to train on, {} to validate{}", pluralize(tokens, "token"),
                     format_count(mixture.tokens(data::Split::validation)), epochs);
}

/// Returns "2 hosts: n1 (4), n2 (4)". Long lists are truncated.
std::string describe_hosts(const std::vector<std::string>& of_ranks) {
  constexpr std::size_t most = 8;
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& host : of_ranks) {
    const auto known = std::ranges::find(counts, host, &std::pair<std::string, int>::first);
    if (known == counts.end()) {
      counts.emplace_back(host, 1);
    } else {
      known->second += 1;
    }
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(most, counts.size()); ++i)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", counts[i].first, counts[i].second);
  return fmt::format("{}: {}{}", pluralize(counts.size(), "host"), names, counts.size() > most ? ", …" : "");
}

void print_summary(const Start& start, const plan::Settings& settings, const data::Mixture& mixture,
                   const std::string& hosts, Console& console) {
  const plan::Plan& plan = start.plan;
  const int dp = plan.layout.dp, num_ranks = plan.layout.size();
  if (dp > plan.micro_batches_per_step) {
    const std::int64_t batches = plan.micro_batches_per_step, idle = dp - batches;
    console.warn("{} {}ranks for {} micro-batch{} a step: {} of them {} nothing to compute", dp,
                 dp == num_ranks ? "" : "data-parallel ", batches, batches == 1 ? "" : "es", idle,
                 idle == 1 ? "has" : "have");
  }
  const std::int64_t steps = plan.total_steps;
  console.info("{}: {}", settings.model.value_or(plan.spec.family), describe_model(plan.spec));
  console.info("{}: {}", mixture.name(), describe_data(plan, mixture));
  console.info("{} of {}, sequences of {}; {} of {} on {}", pluralize(steps, "step"),
               pluralize(plan.tokens_per_step(), "token"), format_count(to_count(plan.sequence_length)),
               pluralize(num_ranks, "rank"), pluralize(plan.threads, "thread"), hosts);
  if (const std::string ignored = describe_ignored_omp_num_threads(plan.threads);
      !settings.threads && !ignored.empty())
    console.info("{}", ignored);
  for (const SourceEpochs& source : source_epochs_at_end(mixture, plan, start.state))
    console.info("{}: {} by the end", source.name, describe(source, mixture));
  if (plan.layout.pp > 1) console.info("{}", plan::describe_pipeline(plan));
  if (const std::string price = plan::describe_zero_comm_cost(plan); !price.empty())
    console.info("{}", price);
  if (!plan.has_tensor_within_nodes() || !plan.has_context_within_nodes())
    console.warn("{}", plan::describe_tensor_parallelism(plan));
  else if (plan.layout.tp * plan.layout.cp > 1)
    console.info("{}", plan::describe_tensor_parallelism(plan));
  if (const std::string slow = plan::describe_slow_attention(plan); !slow.empty()) console.info("{}", slow);
  announce_stages(plan, console);
  if (const std::size_t domains = numa_domains(available_core_numbers()).size(); domains > 1) {
    console.info(
        "this rank's cores lie on {} NUMA domains: a rank bound to each finds its memory near "
        "(mpirun --map-by numa --bind-to numa; srun --ntasks-per-node={} --cpu-bind=ldoms)",
        domains, domains);
  }
  if (!start.checkpoint.empty()) {
    console.info("going on from {} (step {} of {})", start.checkpoint.string(), start.state.step,
                 start.plan.total_steps);
    if (settings.init_from) console.info("--init-from is not used: the run has begun");
    if (settings.profile && plan::parse_step_range("--profile", *settings.profile).last <= start.state.step)
      console.warn("--profile {}: nothing is profiled, the run is past that", *settings.profile);
  }
}

/// Starts a watchdog if ranks are processes, since single processes can be lost.
std::unique_ptr<comm::Watchdog> start_watchdog(const plan::Settings& settings, const run::RunDirectory& run,
                                               const run::Generation& own, const comm::Ranks& ranks) {
  if (!ranks.are_processes) return nullptr;
  const fs::path folder = run.path() / "flight";
  const std::string start_name = fmt::format("g{}", own.number);
  comm::on_root(ranks, [&] {
    create_folders(folder);
    comm::remove_stale_heartbeats(folder, start_name);
  });
  ranks.world.engine().set_timeout(settings.comm_timeout.seconds + comm::watchdog_grace_s);
  return std::make_unique<comm::Watchdog>(comm::WatchdogSettings{.folder = folder,
                                                                 .start_name = start_name,
                                                                 .rank = ranks.world.rank(),
                                                                 .size = ranks.world.size(),
                                                                 .timeout_s = settings.comm_timeout.seconds},
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
    console.info("removed {}, which a killed save left behind", leftover.string());
  for (const checkpoint::Problem& problem : done.problems)
    console.warn("{}, which a killed save left behind, stays: {}", problem.where, problem.what);
}

/// Reports what `--resume never` means for existing checkpoints. Those of the run directory stay;
/// the first save removes those on nodes alone.
void report_unused_checkpoints(const run::RunDirectory& run, const std::vector<run::LocalCheckpoint>& local,
                               Console& console) {
  if (!local.empty())
    console.warn("--resume never: step {}, which was saved on nodes alone, goes with the first save",
                 local.front().step);
  const std::size_t others = run.checkpoints().size();
  if (others == 0) return;
  console.info(
      "--resume never: a new generation from step 0; --resume can still name the run's {} checkpoint{}",
      others, others == 1 ? "" : "s");
}

/// Reports that the run directory is a copy, or was moved. The start then uses the run.json found
/// here, which came from another folder.
void report_copied_run(const run::RunDirectory& run, Console& console) {
  const std::vector<run::Generation> claimed = run.generations();
  std::error_code error;
  if (claimed.empty() || claimed.back().folder.empty() || !fs::exists(run.path() / "run.json", error)) return;
  const fs::path here = fs::canonical(run.path());
  if (here == claimed.back().folder) return;
  console.info("{} is a copy of {}, or was moved from there: going on by the run.json found here, {}",
               run.path().string(), claimed.back().folder, (here / "run.json").string());
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
                fmt::format("another dt-train has been running in {} meanwhile: {}", run.path().string(),
                            run::describe(other)),
                "start again, to go on from where it ended");
  }
}

/// Returns the newest checkpoint that the run or its nodes have on the lineage.
std::optional<checkpoint::CheckpointEntry> newest_on_lineage(const run::RunDirectory& run,
                                                             std::span<const run::LocalCheckpoint> local) {
  std::vector<checkpoint::CheckpointEntry> entries = run.checkpoints();
  for (const run::LocalCheckpoint& c : local) {
    const fs::path path = run.checkpoints_path() / checkpoint::checkpoint_name(c.step, c.generation);
    entries.push_back({path, c.step, c.generation});
  }
  entries = run.on_lineage(std::move(entries));
  if (entries.empty()) return std::nullopt;
  return entries.front();
}

/// Adds announced local checkpoints that no node holds, which must not be ignored silently. May
/// leave out those that are older than a checkpoint that is there.
void add_announced_checkpoints(std::vector<run::LocalCheckpoint>& local, const run::RunDirectory& run) {
  const fs::path metrics = run.path() / "metrics.jsonl";
  for (const auto& entry : announced_local_checkpoints(metrics, newest_on_lineage(run, local))) {
    const auto is_same = [&](const run::LocalCheckpoint& c) {
      return c.step == entry.step && c.generation == entry.generation;
    };
    if (std::none_of(local.begin(), local.end(), is_same))
      local.push_back({entry.step, entry.generation, "", {}});
  }
}

/// Serializes candidates for the broadcast from rank 0; from_text() is the inverse.
std::string to_text(const std::vector<Candidate>& candidates) {
  std::string text;
  for (const Candidate& c : candidates)
    text += (c.required ? "!" : "?") + c.path.string() + '\0' + c.local + '\0';
  return text;
}

std::vector<Candidate> from_text(const std::string& text) {
  std::vector<Candidate> candidates;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\0', begin);
    const std::size_t local_end = text.find('\0', end + 1);
    candidates.push_back({text.substr(begin + 1, end - begin - 1), text[begin] == '!',
                          text.substr(end + 1, local_end - end - 1)});
    begin = local_end + 1;
  }
  return candidates;
}

/// Checks that --checkpoint-local has not changed while the newest checkpoint is on nodes.
/// Errors: environment if the newest checkpoint is incomplete here and was saved under another
/// path.
void require_same_local_storage(const plan::Settings& settings, const run::RunDirectory& run,
                                const std::vector<Candidate>& candidates) {
  if (!settings.checkpoint_local || candidates.empty() || candidates.front().local.empty()) return;
  const auto newest = run::parse_local_checkpoint(candidates.front().local);
  const std::string before = recorded_option(run.path(), "checkpoint-local");
  const auto whole = [](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); };
  if (before.empty() || whole(before) == whole(*settings.checkpoint_local) || newest.why_incomplete().empty())
    return;
  throw Error(ErrorKind::environment,
              fmt::format("step {} was saved on nodes under {}, and {} does not hold it", newest.step, before,
                          *settings.checkpoint_local),
              "name the former with --checkpoint-local; to go on from an older one all the same, name that "
              "with --resume");
}

/// Returns the effective --resume. A job that Slurm restarts repeats its command. If an earlier
/// start of the job has saved, `never` or a checkpoint would discard that, so both then mean
/// `auto`. Rank 0 reads the run's folder.
/// Collective: all ranks.
std::string effective_resume(const plan::Settings& settings, const comm::Ranks& ranks) {
  std::string resume = settings.resume;
  comm::on_root(ranks, [&] {
    if (resume == "auto") return;
    const run::RunDirectory run(*settings.run);
    const std::vector<std::int64_t> earlier = run.earlier_lives();
    if (earlier.empty()) return;
    const std::vector<checkpoint::CheckpointEntry> saved = run.checkpoints();
    const bool has_saved = std::any_of(saved.begin(), saved.end(), [&](const auto& entry) {
      return std::find(earlier.begin(), earlier.end(), entry.generation) != earlier.end();
    });
    if (!has_saved &&
        !has_announced_local_checkpoint(run.path() / "metrics.jsonl", {earlier.begin(), earlier.end()}))
      return;
    ranks.console.info("--resume {} acts as auto: this Slurm job was started again and has saved before",
                       resume);
    resume = "auto";
  });
  return comm::broadcast_text(ranks.world, resume);
}

/// Warns if --resume names another checkpoint than the run's newest. A script that repeats the
/// command would lose the run's progress each time.
void warn_of_own_checkpoints(const plan::Settings& settings, const run::RunDirectory& run, Console& console) {
  if (settings.resume == "auto" || settings.resume == "never") return;
  const std::vector<checkpoint::CheckpointEntry> own = run.lineage();
  std::error_code error;
  if (own.empty() || fs::equivalent(own.front().path, settings.resume, error)) return;
  console.warn("{} has checkpoints of its own, the newest {}: --resume auto would go on from that",
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
    console.warn("{} refuses file locks: a second job on this run would not be noticed at its start",
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

/// Returns the candidates for a start, newest first. `local` is what the nodes reported.
std::vector<Candidate> find_candidates(const plan::Settings& settings, const run::RunDirectory& run,
                                       std::vector<run::LocalCheckpoint> local, const comm::Ranks& ranks) {
  std::vector<Candidate> candidates;
  comm::on_root(ranks, [&] {
    if (settings.resume == "never") report_unused_checkpoints(run, local, ranks.console);
    if (settings.resume == "auto") add_announced_checkpoints(local, run);
    candidates = resume_candidates(settings, &run, local);
    require_same_local_storage(settings, run, candidates);
  });
  return from_text(comm::broadcast_text(ranks.world, to_text(candidates)));
}

/// Makes the newest checkpoint that nodes alone hold completely an ordinary one. All ranks take
/// part, since nodes of idle ranks may hold shards that others lack. The search skips the rest.
void promote_local_checkpoint(const plan::Settings& settings, const comm::Ranks& ranks) {
  if (!settings.checkpoint_local || settings.resume == "never") return;
  const run::RunDirectory run(*settings.run);
  comm::on_root(ranks, [&] {
    run::RunLock::require_not_held(run);
    run.restore_replaced();
  });
  const run::Promotion promotion(ranks, settings.checkpoint_local, run);
  std::vector<run::LocalCheckpoint> newer_than_the_runs_own;
  for (const Candidate& candidate : find_candidates(settings, run, promotion.survey(), ranks)) {
    if (candidate.local.empty()) break;
    std::int64_t is_shunned = 0;
    comm::on_root(ranks, [&] { is_shunned = run::why_excluded(candidate.path).empty() ? 0 : 1; });
    if (comm::broadcast_number(ranks.world, is_shunned) != 0) continue;
    newer_than_the_runs_own.push_back(run::parse_local_checkpoint(candidate.local));
  }
  promotion.promote_newest(newer_than_the_runs_own);
}

/// Removes what the nodes of idle ranks held before the run continued, which is useless once the
/// run has ended successfully.
void remove_older_local_checkpoints(const plan::Settings& settings, const comm::Ranks& ranks) {
  if (!settings.checkpoint_local) return;
  const run::RunDirectory run(*settings.run);
  std::string newest;
  comm::on_root(ranks, [&] {
    const std::vector<checkpoint::CheckpointEntry> own = run.lineage();
    if (!own.empty()) newest = own.front().path.string();
  });
  const auto entry = checkpoint::parse_checkpoint_name(comm::broadcast_text(ranks.world, newest));
  if (entry) run::Promotion(ranks, settings.checkpoint_local, run).clear_older(*entry);
}

/// Trains. `was_surveyed` says that these and other ranks have been asked what their nodes hold.
/// Collective: all of `ranks`.
int train_on_ranks(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                   const data::Mixture& dataset, const StopSignals& signals, bool was_surveyed,
                   const comm::Ranks& ranks) {
  const plan::Launch launch = plan::find_launch(settings, ranks, ranks.world.size());
  const run::RunDirectory run(*settings.run);
  std::int64_t newest_seen = 0;
  comm::on_root(ranks, [&] {
    run::RunLock::require_not_held(run);
    run.restore_replaced();
    warn_of_own_checkpoints(settings, run, ranks.console);
    report_copied_run(run, ranks.console);
    newest_seen = newest_generation(run);
  });
  const run::Promotion promotion(ranks, settings.checkpoint_local, run);
  const std::vector<Candidate> candidates =
      find_candidates(settings, run, promotion.find(was_surveyed), ranks);
  Start start = prepare_start(settings, dataset, candidates, promotion, launch, ranks);
  check_same_state(ranks, start.runtime->spec(), start.runtime->context(), start.runtime->storage());
  const fs::path weights =
      start.checkpoint.empty() ? fs::path(settings.init_from.value_or("")) : start.checkpoint;
  comm::on_root(ranks, [&] {
    check_same_tokens(weights, dataset.source_name(0), ranks.console);
    // A run that has trained continues with its data as it is.
    if (start.state.step == 0) check_validation_targets(dataset, evaluation_request(settings, start.plan));
  });

  std::int64_t nothing_left = 0;
  comm::on_root(ranks, [&] { nothing_left = is_complete(start, settings, dataset, run) ? 1 : 0; });
  if (comm::broadcast_number(ranks.world, nothing_left) != 0) {
    newest_seen = comm::broadcast_number(ranks.world, newest_seen);
    if (start.skipped.empty()) promotion.clear(newest_seen);
    ranks.console.info("{} is at step {} and was to end at step {}: nothing is left to do",
                       run.path().string(), start.state.step, start.plan.total_steps);
    return 0;
  }
  const std::vector<std::string> hosts = comm::gather_texts(ranks.world, host_name());
  if (ranks.is_root()) print_summary(start, settings, dataset, describe_hosts(hosts), ranks.console);
  ClaimedRun owned;
  comm::on_root(ranks, [&] {
    claim_run(owned, run, start, newest_seen, ranks.console);
    store_tokenizer(run, dataset.source_name(0), weights, start.plan.spec.special.eos, ranks.console);
    record_options(run, asked, settings.resume != "never", start, owned.generation, ranks.console);
  });
  broadcast_generation(owned.generation, run, ranks);
  const auto watchdog = start_watchdog(settings, run, owned.generation, ranks);
  std::optional<Trainer> trainer;  // outlives the handlers, since its destructor may wait for a file
  try {
    trainer.emplace(settings, dataset, run, owned.generation, owned.live_run ? &*owned.live_run : nullptr,
                    start, signals, ranks);
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
  settings.resume = effective_resume(given, ranks);
  const StagedData staged = stage_data(
      settings, [&] { return signals.received() != 0; }, ranks);
  std::optional<data::Mixture> dataset;
  bool all_take_part = true;
  comm::run_collectively(ranks.world, [&] {
    dataset.emplace(settings.data, staged.copies, staged.shards_to_read_ahead);
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
