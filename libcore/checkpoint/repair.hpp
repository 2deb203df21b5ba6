#pragma once
// Mending a checkpoint with what another copy of it still has.

#include <functional>
#include <vector>

#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

struct Repair {
  std::vector<Problem> repaired;  // what was wrong, and is right now
  std::vector<Problem> problems;  // what is still wrong
};

/// Replaces every block of `checkpoint` that does not have its digest, every missing file and the manifest by
/// those of `replica`, each verified there first, then verifies the whole. A manifest that is whole decides
/// what the blocks must be; where only the replica's is, `checkpoint` must have the replica's name or that of
/// its step and generation, and at least half of what can be read of it must be what the replica's manifest
/// says. Bytes that have their digest are not touched: a crash leaves less damage, never more. `done` is told
/// bytes: of all files, twice; while it mends, none again and again. What it throws ends the repair as a
/// crash would, but leaves no hidden file. Errors: input: a replica of another checkpoint, or the checkpoint
/// itself; verification: no manifest is whole; environment.
Repair repair_checkpoint(const fs::path& checkpoint, const fs::path& replica,
                         const std::function<void(std::uint64_t)>& done = {});

}  // namespace dt::checkpoint
