#pragma once
// The rule by which checkpoints of a run are kept.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_name.hpp"

namespace dt::run {

struct PruneRule {
  std::int64_t keep_last = 1;   // number of newest sound checkpoints to keep, at least 1
  std::int64_t keep_every = 0;  // also keeps steps that are multiples of this; 0: none
};

struct PruneDecision {
  checkpoint::CheckpointEntry entry;
  bool keep = true;
  std::string why;  // reason for keeping
};

/// Returns one decision for each of `lineage` (newest first), in its order. `why_unsound` returns
/// what is wrong with a checkpoint, or "". It is called newest first, until keep_last sound
/// checkpoints are found. Older ones are kept only for `keep_every`. An unsound checkpoint does not
/// count. It is kept if it is newer than the last of the sound ones, since it may be repaired.
std::vector<PruneDecision> decide_prune(
    std::span<const checkpoint::CheckpointEntry> lineage, const PruneRule& rule,
    const std::function<std::string(const checkpoint::CheckpointEntry&)>& why_unsound);

}  // namespace dt::run
