#pragma once
// Verification of a whole checkpoint, in any state of damage.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

/// A defect of a checkpoint.
struct Problem {
  std::string where;  // file, and tensor where known
  std::string what;
  bool is_unreadable = false;  // no damage: a permission or a limit prevents reading
};

/// Verifies a folder in any state of damage: an unreadable manifest is a Problem, not an error.
/// Processes that share the work pass `take`. It is called once for the manifest, then for each of
/// its files in order, the index of pieces first, and returns whether the calling process checks it.
std::vector<Problem> verify_checkpoint(const fs::path& checkpoint,
                                       const std::function<void(std::uint64_t)>& checked = {},
                                       const std::function<bool()>& take = {});

/// Returns the names in the checkpoint's folder that its manifest does not list, sorted. Readers
/// ignore them.
std::vector<std::string> unlisted_files(const fs::path& checkpoint, const Manifest& manifest);

}  // namespace dt::checkpoint
