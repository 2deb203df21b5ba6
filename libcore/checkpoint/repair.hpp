#pragma once
// Repair of a checkpoint from a second copy.

#include <functional>
#include <vector>

#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

struct Repair {
  std::vector<Problem> repaired;  // defects that are repaired
  std::vector<Problem> problems;  // defects that remain
};

/// Replaces every block of `checkpoint` whose digest differs, every missing file and a damaged
/// manifest by those of `replica`. Verifies each block of the replica first, and the whole
/// checkpoint at the end.
///
/// A sound manifest of `checkpoint` decides what the blocks must be. Two conditions apply if only
/// the replica's is sound. `checkpoint` must have the replica's name, or the name of its step and
/// generation. At least half of the bytes that can be read in `checkpoint` must match the replica's
/// manifest.
///
/// `done` receives numbers of bytes, in total twice the size of all files, and 0 repeatedly during
/// repair. An exception from it ends the repair as a crash would, but leaves no hidden file.
/// Holds the index of pieces in memory, if there is one.
/// Errors: input for a replica of another checkpoint, or the checkpoint itself; verification if no
/// manifest is sound, or neither copy has some block of the index; environment.
/// After a crash: there is less damage, never more, since bytes that match their digest are not
/// touched.
Repair repair_checkpoint(const fs::path& checkpoint, const fs::path& replica,
                         const std::function<void(std::uint64_t)>& done = {});

}  // namespace dt::checkpoint
