#pragma once
// What ranks tell each other of the save under way (see Saver), through the decision point of a step.

#include <cstdint>

namespace dt::run {

/// What one rank reports; added up, what all have.
struct SaveProgress {
  std::int64_t parts_written = 0;  // 1 where this rank's is on disk
  std::int64_t commits = 0;        // 1 where this rank has committed
  bool has_failed = false;         // on any rank
};

}  // namespace dt::run
