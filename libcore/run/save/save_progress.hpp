#pragma once
// The state of the save in progress (see Saver), which ranks exchange through a step's decision
// point.

#include <cstdint>

namespace dt::run {

/// One rank's report, or the sum of all ranks' reports.
struct SaveProgress {
  std::int64_t shards_written = 0;  // 1 if this rank's shard is on disk
  std::int64_t commits = 0;         // 1 if this rank has committed
  bool has_failed = false;          // true if any rank failed
};

}  // namespace dt::run
