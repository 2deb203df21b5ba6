#include "train/start/candidates.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "run/generation.hpp"
#include "run/local/promotion.hpp"
#include "train/report/metrics_history.hpp"
#include "train/start/run_record.hpp"

namespace dt::train {

namespace {

/// Reports what `--resume never` means for existing checkpoints. Those of the run directory stay;
/// the first save removes those on nodes alone.
void report_unused_checkpoints(const run::RunDirectory& run, const std::vector<run::LocalCheckpoint>& local,
                               Console& console) {
  if (!local.empty())
    console.warn("--resume never: the first save removes the local checkpoint of step {}",
                 local.front().step);
  const std::size_t others = run.checkpoints().size();
  if (others == 0) return;
  console.info(
      "--resume never: starting a new generation from step 0; --resume can still name the run's {} "
      "checkpoint{}",
      others, others == 1 ? "" : "s");
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

/// Refuses to start anew if the lineage has no checkpoints, but the run has or had some.
void require_existing_lineage(const run::RunDirectory& run) {
  const std::vector<run::Generation> claimed = run.generations();
  const std::size_t others = run.checkpoints().size();
  const std::string continues = claimed.empty() ? "" : claimed.back().continues;
  if (others == 0 && continues.empty()) return;
  const std::string name = run.path().string();
  const std::string newest = claimed.empty() ? "" : fmt::format(" {}", claimed.back().number);
  throw Error(ErrorKind::input,
              fmt::format("{}: its newest generation{} {} and has no checkpoint{}", name, newest,
                          continues.empty() ? "started from step 0"
                                            : fmt::format("resumed from {}, which is missing,", continues),
                          others == 0 ? "" : fmt::format("; other generations have {}", others)),
              fmt::format("name one that 'dt-checkpoint list {}' shows with --resume, or start from step 0 "
                          "with --resume never",
                          name));
}

/// Returns the run's checkpoints and those on its nodes, newest first. An announced checkpoint that
/// no node holds is included if it is newer than all of these. An older one was removed when a
/// newer one was saved.
std::vector<Candidate> candidates_on_lineage(const run::RunDirectory& run,
                                             std::span<const run::LocalCheckpoint> local) {
  std::vector<checkpoint::CheckpointEntry> entries = run.checkpoints();
  std::map<fs::path, const run::LocalCheckpoint*> on_nodes;
  for (const run::LocalCheckpoint& c : local) {
    const fs::path path = run.checkpoints_path() / checkpoint::checkpoint_name(c.step, c.generation);
    const auto has_path = [&](const checkpoint::CheckpointEntry& entry) { return entry.path == path; };
    if (std::any_of(entries.begin(), entries.end(), has_path)) continue;
    entries.push_back({path, c.step, c.generation});
    on_nodes[path] = &c;
  }
  std::vector<Candidate> candidates;
  for (const checkpoint::CheckpointEntry& entry : run.on_lineage(std::move(entries))) {
    const auto found = on_nodes.find(entry.path);
    const bool is_lost = found != on_nodes.end() && found->second->holders.empty();
    if (is_lost && !candidates.empty()) continue;
    candidates.push_back({entry.path, false, found == on_nodes.end() ? "" : run::to_text(*found->second)});
  }
  return candidates;
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
  if (!settings.save.local_folder || candidates.empty() || candidates.front().local.empty()) return;
  const auto newest = run::parse_local_checkpoint(candidates.front().local);
  const std::string before = recorded_option(run.path(), "checkpoint-local");
  const auto whole = [](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); };
  if (before.empty() || whole(before) == whole(*settings.save.local_folder) ||
      newest.why_incomplete().empty())
    return;
  throw Error(ErrorKind::environment,
              fmt::format("the local checkpoint of step {} was saved under {}, but {} does not hold it",
                          newest.step, before, *settings.save.local_folder),
              "set --checkpoint-local to the former; to resume from an older checkpoint, name it with "
              "--resume");
}

}  // namespace

std::string effective_resume(const plan::Settings& settings, const comm::Ranks& ranks) {
  std::string resume = settings.resume.from;
  comm::on_root(ranks, [&] {
    if (resume == "auto") return;
    const run::RunDirectory run(*settings.resume.run);
    const std::vector<std::int64_t> earlier = run.earlier_lives();
    if (earlier.empty()) return;
    const std::vector<checkpoint::CheckpointEntry> saved = run.checkpoints();
    const bool has_saved = std::any_of(saved.begin(), saved.end(), [&](const auto& entry) {
      return std::find(earlier.begin(), earlier.end(), entry.generation) != earlier.end();
    });
    if (!has_saved &&
        !has_announced_local_checkpoint(run.path() / "metrics.jsonl", {earlier.begin(), earlier.end()}))
      return;
    ranks.console.info(
        "--resume {} is treated as auto: this Slurm job was requeued and has saved checkpoints", resume);
    resume = "auto";
  });
  return comm::broadcast_text(ranks.world, resume);
}

std::string foreign_parent_checkpoint(const run::RunDirectory& run) {
  const std::vector<run::Generation> claimed = run.generations();
  std::string continues = claimed.empty() ? "" : claimed.back().continues;
  while (!continues.empty() && continues.find('/') == std::string::npos) {
    const auto parent = checkpoint::parse_checkpoint_name(continues);
    const auto older = std::find_if(claimed.begin(), claimed.end(),
                                    [&](const auto& g) { return parent && g.number == parent->generation; });
    continues = older == claimed.end() ? "" : older->continues;
  }
  return continues;
}

std::vector<Candidate> resume_candidates(const plan::ResumeRequest& request, const run::RunDirectory* run,
                                         std::span<const run::LocalCheckpoint> local) {
  if (request.from == "never") return {};
  if (request.from != "auto") return {{request.from, true}};
  std::vector<Candidate> candidates;
  if (run) {
    candidates = candidates_on_lineage(*run, local);
    if (const std::string origin = foreign_parent_checkpoint(*run); !origin.empty())
      candidates.push_back({origin, false});
    if (candidates.empty()) require_existing_lineage(*run);
  }
  return candidates;
}

std::vector<Candidate> find_candidates(const plan::Settings& settings, const run::RunDirectory& run,
                                       std::vector<run::LocalCheckpoint> local, const comm::Ranks& ranks) {
  std::vector<Candidate> candidates;
  comm::on_root(ranks, [&] {
    if (settings.resume.from == "never") report_unused_checkpoints(run, local, ranks.console);
    if (settings.resume.from == "auto") add_announced_checkpoints(local, run);
    candidates = resume_candidates(settings.resume, &run, local);
    require_same_local_storage(settings, run, candidates);
  });
  return from_text(comm::broadcast_text(ranks.world, to_text(candidates)));
}

void promote_local_checkpoint(const plan::Settings& settings, const comm::Ranks& ranks) {
  if (!settings.save.local_folder || settings.resume.from == "never") return;
  const run::RunDirectory run(*settings.resume.run);
  comm::on_root(ranks, [&] {
    run::RunLock::require_not_held(run);
    run.restore_replaced();
  });
  const run::Promotion promotion(ranks, settings.save.local_folder, run);
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

void remove_older_local_checkpoints(const plan::Settings& settings, const comm::Ranks& ranks) {
  if (!settings.save.local_folder) return;
  const run::RunDirectory run(*settings.resume.run);
  std::string newest;
  comm::on_root(ranks, [&] {
    const std::vector<checkpoint::CheckpointEntry> own = run.lineage();
    if (!own.empty()) newest = own.front().path.string();
  });
  const auto entry = checkpoint::parse_checkpoint_name(comm::broadcast_text(ranks.world, newest));
  if (entry) run::Promotion(ranks, settings.save.local_folder, run).clear_older(*entry);
}

}  // namespace dt::train
