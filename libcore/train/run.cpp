#include "train/run.hpp"

#include "base/error.hpp"
#include "base/signals.hpp"
#include "checkpoint/run_directory.hpp"
#include "data/token_dataset.hpp"
#include "train/evaluation.hpp"
#include "train/run_record.hpp"
#include "train/start.hpp"
#include "train/trainer.hpp"

namespace dt::train {

namespace {

bool is_of_run(const fs::path& checkpoint, const checkpoint::RunDirectory& run) {
  return fs::canonical(checkpoint).parent_path() == fs::weakly_canonical(run.checkpoints_path());
}

/// How generations name the checkpoint that they go on from: by its name within the run, by its path
/// elsewhere.
std::string lineage_name(const fs::path& checkpoint, const checkpoint::RunDirectory& run) {
  if (checkpoint.empty()) return "";
  const fs::path path = fs::canonical(checkpoint);
  return is_of_run(checkpoint, run) ? path.filename().string() : path.string();
}

/// A run that is at its end, evaluated and all, needs no new generation.
bool has_nothing_to_do(const Start& start, const Settings& settings, const data::TokenDataset& dataset,
                       const checkpoint::RunDirectory& run) {
  return !start.checkpoint.empty() && start.state.step >= start.plan.total_steps &&
         is_of_run(start.checkpoint, run) &&
         !is_evaluation_missing(settings, start.plan, dataset, run, start.state.step);
}

void announce(const Start& start, const Settings& settings, Console& console) {
  if (!start.checkpoint.empty()) {
    console.info("going on from {} (step {} of {})", start.checkpoint.string(), start.state.step,
                 start.plan.total_steps);
    if (settings.init_from) console.info("--init-from is not used: the run has begun");
  }
}

void remove_leftovers(const checkpoint::RunDirectory& run, Console& console) {
  for (const fs::path& leftover : run.remove_leftovers()) {
    console.info("removed {}, which a killed save left behind", leftover.string());
  }
}

std::int64_t newest_generation(const checkpoint::RunDirectory& run) {
  const std::vector<checkpoint::Generation> generations = run.generations();
  return generations.empty() ? 0 : generations.back().number;
}

/// A start that came and went between our look at the lineage and our claim may have moved the run on.
void refuse_if_moved_on(const checkpoint::RunDirectory& run, std::int64_t newest_seen,
                        const checkpoint::Generation& own) {
  for (const checkpoint::Generation& other : run.generations()) {
    if (other.number <= newest_seen || other.number == own.number) continue;
    run.withdraw(own);
    throw Error(
        ErrorKind::environment,
        fmt::format("another start of {} (generation {}) came in between", run.path().string(), other.number),
        "start again");
  }
}

}  // namespace

int run_training(const Settings& settings, const std::vector<OptionValue>& asked, Console& console) {
  const StopSignals signals;
  const data::TokenDataset dataset(settings.data);
  const checkpoint::RunDirectory run(*settings.run);
  checkpoint::LiveRun::refuse_if_alive(run);
  const std::int64_t newest_seen = newest_generation(run);

  Start start = prepare_start(settings, dataset, resume_candidates(settings, &run), console);
  if (has_nothing_to_do(start, settings, dataset, run)) {
    console.info("{} is at step {} and was to end at step {}: nothing is left to do", run.path().string(),
                 start.state.step, start.plan.total_steps);
    return 0;
  }
  announce(start, settings, console);
  run.create();
  const checkpoint::Generation generation =
      run.claim(lineage_name(start.checkpoint, run), start.checkpoint.empty() ? 0 : start.state.step);
  const checkpoint::LiveRun alive(run, generation);
  refuse_if_moved_on(run, newest_seen, generation);
  if (!alive.supported()) {
    console.warn("{} refuses file locks: a second job on this run would not be noticed at its start",
                 run.path().string());
  }
  if (alive.supported()) remove_leftovers(run, console);
  for (const OptionChange& change : record_run(run.path(), asked, generation.number, start.state.step)) {
    console.info("--{}: {} → {}", change.option, change.from.empty() ? "unset" : change.from,
                 change.to.empty() ? "unset" : change.to);
  }
  return Trainer(settings, dataset, run, generation, start, signals, console).run();
}

}  // namespace dt::train
