#include "run/prune.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "run/exclusion_records.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"

namespace dt::checkpoint_tool {

using json = nlohmann::ordered_json;

namespace {

using checkpoint::CheckpointEntry;
using run::PruneDecision;
using run::RunDirectory;

/// Minimum number of fully verified checkpoints that stay, even if the options keep fewer.
constexpr std::int64_t min_verified = 2;

/// Judges checkpoints. Verifies the newest ones fully until two are known to be whole. Checks only
/// files and sizes of older ones.
class CheckpointVerifier {
 public:
  CheckpointVerifier(const StopSignals& signals, Console& console) : signals_(signals), console_(console) {}

  std::string operator()(const CheckpointEntry& entry) {
    if (std::string why = run::why_not_finite(entry.path); !why.empty()) return why;
    if (num_verified >= min_verified) return run::why_incomplete(entry.path);
    const std::string path = entry.path.string();
    Progress progress = console_.progress("verifying " + path, manifest_bytes(path), "B");
    const std::vector<checkpoint::Problem> problems =
        checkpoint::verify_checkpoint(entry.path, [&](std::uint64_t bytes) {
          signals_.check();
          progress.advance(bytes);
        });
    if (problems.empty()) {
      ++num_verified;
      return {};
    }
    if (std::ranges::all_of(problems, &checkpoint::Problem::is_unreadable))
      throw Error(ErrorKind::environment,
                  fmt::format("cannot verify {}: {}: {}", path, problems[0].where, problems[0].what),
                  "nothing was removed");
    console_.warn("{} is damaged: {}: {}{}", path, problems[0].where, problems[0].what,
                  problems.size() > 1 ? fmt::format(", and {} more problems", problems.size() - 1) : "");
    return fmt::format("damaged: {}: {}", problems[0].where, problems[0].what);
  }

  std::int64_t num_verified = 0;

 private:
  const StopSignals& signals_;
  Console& console_;
};

std::int64_t newest_generation(const RunDirectory& run) {
  const std::vector<run::Generation> claimed = run.generations();
  return claimed.empty() ? 0 : claimed.back().number;
}

/// Checks that no job has begun during verification, which takes time.
void require_same_generation(const RunDirectory& run, std::int64_t generation) {
  run::RunLock::require_not_held(run);
  if (newest_generation(run) == generation) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("a job started on {} during verification; nothing was removed", run.path().string()),
      "wait until the job ends, then run prune again");
}

/// Removes checkpoints. Continues after a failure.
class Remover {
 public:
  Remover(const RunDirectory& run, Console& console) : run_(run), console_(console) {}

  /// Returns "", or why a checkpoint keeps its name. Warns once of remains of other checkpoints.
  std::string remove(std::span<const fs::path> checkpoints) {
    std::string why;
    for (const checkpoint::Problem& problem : run_.remove(checkpoints).problems) {
      if (!checkpoints.empty() && problem.where == checkpoints.front().string() &&
          fs::exists(problem.where)) {
        why = problem.what;
        if (kept_.empty()) kept_ = problem.what;
      } else if (told_.insert(problem.where).second) {
        console_.warn("could not remove {}: {}", problem.where, problem.what);
      }
    }
    return why;
  }

  /// Checks that all checkpoints to remove are gone.
  /// Errors: environment if one is still there.
  void check_all_gone() const {
    if (!kept_.empty())
      throw Error(ErrorKind::environment, kept_,
                  "the list shows which were removed; fix this, then run prune again");
  }

 private:
  const RunDirectory& run_;
  Console& console_;
  std::set<std::string> told_;
  std::string kept_;  // reason why the first checkpoint stays
};

void print(const CheckpointEntry& entry, const char* action, const std::string& why, Console& console) {
  if (console.json()) {
    json object = {{"path", escape_invalid_utf8(entry.path.native())},
                   {"step", entry.step},
                   {"generation", entry.generation},
                   {"action", action}};
    if (!why.empty()) object["why"] = why;
    console.write_text(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  } else {
    console.print("{:12}  {}{}\n", action, printable_line(entry.path.string()),
                  why.empty() ? "" : ": " + printable_line(why));
  }
}

/// Returns the checkpoints off the lineage. The user did not ask to remove them.
std::vector<CheckpointEntry> off_lineage(const RunDirectory& run,
                                         const std::vector<PruneDecision>& decisions) {
  std::vector<CheckpointEntry> others = run.checkpoints();
  std::erase_if(others, [&](const CheckpointEntry& entry) {
    return std::any_of(decisions.begin(), decisions.end(),
                       [&](const PruneDecision& d) { return d.entry.path == entry.path; });
  });
  return others;
}

}  // namespace

int prune(const Options& options, const StopSignals& signals, Console& console) {
  const RunDirectory run(options.arguments.at(1));
  run.refuse_strangers();
  run.require();
  if (!options.dry_run) run::RunLock::require_not_held(run);
  const std::int64_t generation = newest_generation(run);
  CheckpointVerifier judge(signals, console);
  const run::PruneRule rule{std::max(*options.keep_last, min_verified), options.keep_every.value_or(0)};
  const std::vector<PruneDecision> decisions =
      run::decide_prune(run.lineage(), rule, [&](const CheckpointEntry& e) { return judge(e); });
  for (const CheckpointEntry& entry : off_lineage(run, decisions))
    print(entry, "kept", "not on the lineage", console);
  for (const PruneDecision& d : decisions) {
    if (d.keep) print(d.entry, "kept", d.why, console);
  }
  if (judge.num_verified < min_verified) {
    console.info("fewer than {} checkpoints verify; none was removed", min_verified);
  }
  if (!options.dry_run) require_same_generation(run, generation);
  const auto num_removed = static_cast<std::uint64_t>(
      std::count_if(decisions.begin(), decisions.end(), [](const PruneDecision& d) { return !d.keep; }));
  Progress progress = console.progress("removing", num_removed, "checkpoints");
  Remover remover(run, console);
  if (!options.dry_run) remover.remove({});  // removes remains of an earlier, unfinished removal
  for (const PruneDecision& d : decisions) {
    if (d.keep) continue;
    signals.check();
    const std::string why = options.dry_run ? "" : remover.remove(std::span(&d.entry.path, 1));
    print(d.entry, options.dry_run ? "would remove" : why.empty() ? "removed" : "kept", why, console);
    progress.advance(1);
  }
  remover.check_all_gone();
  return 0;
}

}  // namespace dt::checkpoint_tool
