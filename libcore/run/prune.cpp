#include "run/prune.hpp"

#include "base/error.hpp"

namespace dt::run {

std::vector<PruneDecision> decide_prune(
    std::span<const checkpoint::CheckpointEntry> lineage, const PruneRule& rule,
    const std::function<std::string(const checkpoint::CheckpointEntry&)>& why_unsound) {
  DT_CHECK(rule.keep_last >= 1, "prune keeps {} checkpoints", rule.keep_last);
  std::vector<PruneDecision> decisions;
  std::int64_t kept = 0;
  for (const checkpoint::CheckpointEntry& entry : lineage) {
    PruneDecision& decision = decisions.emplace_back(PruneDecision{entry, true, ""});
    if (kept < rule.keep_last) {
      const std::string why = why_unsound(entry);
      if (why.empty()) ++kept;
      decision.why =
          why.empty() ? fmt::format("one of the newest {}", rule.keep_last) : "does not count: " + why;
    } else if (rule.keep_every > 0 && entry.step % rule.keep_every == 0) {
      decision.why = fmt::format("its step is a multiple of {}", rule.keep_every);
    } else {
      decision.keep = false;
    }
  }
  return decisions;
}

RemovalResult RunDirectory::prune(std::int64_t own_generation, std::optional<std::int64_t> keep_last,
                                  std::int64_t keep_every) const {
  if (!keep_last) return {};
  // Read the lineage before the claims. If another start claims in between, the removed checkpoints
  // are still ones that the caller's own lineage can spare, never one that the other start wrote.
  const std::vector<checkpoint::CheckpointEntry> entries = lineage();
  const std::vector<Generation> claimed = generations();
  if (!claimed.empty() && claimed.back().number > own_generation) return {};
  const auto decisions =
      decide_prune(entries, {*keep_last, keep_every},
                   [](const checkpoint::CheckpointEntry& entry) { return why_incomplete(entry.path); });
  std::vector<fs::path> spared;
  for (const PruneDecision& decision : decisions) {
    if (!decision.keep) spared.push_back(decision.entry.path);
  }
  return remove(spared);
}

}  // namespace dt::run
