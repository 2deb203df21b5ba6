#pragma once
// Files that the command line names, which may be pipes: `--config <(…)`.

#include "base/files.hpp"

namespace dt {

/// Returns all bytes of a regular file or a pipe. Waits for a pipe's writer; a request to stop ends the wait.
/// For names that the user gave: what lies under a name in a folder is read by read_file().
/// Errors: those of read_file(); Interrupted.
std::string read_file_or_pipe(const fs::path& path, std::uint64_t max_bytes = max_parsed_file_bytes);

}  // namespace dt
