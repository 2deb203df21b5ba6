#pragma once
// The tokenizer's files of a run, in each of its checkpoints.

#include "checkpoint/manifest.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

/// Before a checkpoint of so many parts is committed: the files of run.tokenizer_path(), if any, as one more.
/// Returns how many there are then. Blocks. Errors: environment.
int add_tokenizer_part(const RunDirectory& run, const fs::path& unfinished,
                       const checkpoint::Manifest& header, int num_parts);

}  // namespace dt::run
