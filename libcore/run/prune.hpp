#pragma once
// Which checkpoints of a run may go.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "run/run_directory.hpp"

namespace dt::run {

struct PruneRule {
  std::int64_t keep_last = 1;   // so many of the newest sound ones, at least 1
  std::int64_t keep_every = 0;  // and those whose step is a multiple of this; 0: none
};

struct PruneDecision {
  checkpoint::CheckpointEntry entry;
  bool keep = true;
  std::string why;  // of what is kept
};

/// One decision for each of `lineage` (newest first), in its order. `why_unsound` tells what is wrong with a
/// checkpoint ("": nothing) and is asked, newest first, until keep_last sound ones are found: nothing older
/// than those is kept for its own sake. One that is not sound counts for nothing, and is kept where it is
/// newer than they are: it may be repaired.
std::vector<PruneDecision> decide_prune(
    std::span<const checkpoint::CheckpointEntry> lineage, const PruneRule& rule,
    const std::function<std::string(const checkpoint::CheckpointEntry&)>& why_unsound);

}  // namespace dt::run
