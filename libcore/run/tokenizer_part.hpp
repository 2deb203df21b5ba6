#pragma once
// The run's tokenizer files in each of its checkpoints.

#include "checkpoint/manifest.hpp"
#include "run/run_directory.hpp"

namespace dt::run {

/// Adds the files of run.tokenizer_path(), if any, as those of one more writer before a checkpoint of
/// `num_writers` writers is committed. Returns the new number of writers. Blocks.
/// Errors: environment.
int add_tokenizer_files(const RunDirectory& run, const fs::path& unfinished,
                        const checkpoint::Manifest& header, int num_writers);

}  // namespace dt::run
