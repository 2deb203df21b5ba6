#pragma once
// A checkpoint written by all ranks.

#include "checkpoint/run_directory.hpp"
#include "comm/ranks.hpp"
#include "parallel/model_storage.hpp"

namespace dt::train {

struct SavedCheckpoint {
  fs::path path;
  std::uint64_t bytes = 0;
};

/// Called by all ranks together; blocks. Each rank writes its share of the state, rank 0 commits once all
/// have reported that theirs is on disk. Path and size are known on rank 0 alone. Errors, on all ranks:
/// environment, where a rank could not write, or a newer generation has taken the run over; nothing is under
/// the final name then.
SavedCheckpoint save_checkpoint(const comm::Ranks& ranks, const checkpoint::RunDirectory& run,
                                const checkpoint::Generation& own, const checkpoint::Manifest& header,
                                const parallel::ModelStorage& storage);

/// What a start says that finds its run taken over.
[[noreturn]] void give_way(const checkpoint::RunDirectory& run, const checkpoint::Generation& own);

}  // namespace dt::train
