#include "run/prune.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace dt::run {

std::vector<PruneDecision> decide_prune(
    std::span<const checkpoint::CheckpointEntry> lineage, const PruneRule& rule,
    const std::function<std::string(const checkpoint::CheckpointEntry&)>& why_unsound) {
  DT_CHECK(rule.keep_last >= 1, "keep_last is {}, expected at least 1", rule.keep_last);
  std::vector<PruneDecision> decisions;
  std::int64_t kept = 0;
  for (const checkpoint::CheckpointEntry& entry : lineage) {
    PruneDecision& decision = decisions.emplace_back(PruneDecision{entry, true, ""});
    if (kept < rule.keep_last) {
      const std::string why = why_unsound(entry);
      if (why.empty()) ++kept;
      decision.why =
          why.empty() ? fmt::format("one of the newest {}", rule.keep_last) : "not counted: " + why;
    } else if (rule.keep_every > 0 && entry.step % rule.keep_every == 0) {
      decision.why = fmt::format("its step is a multiple of {}", rule.keep_every);
    } else {
      decision.keep = false;
    }
  }
  return decisions;
}

}  // namespace dt::run
