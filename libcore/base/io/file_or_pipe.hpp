#pragma once
// Files named on the command line, which may be pipes: `--config <(…)`.

#include "base/io/files.hpp"

namespace dt {

/// Returns all bytes of a regular file or a pipe. Waits for a pipe's writer; a stop request ends
/// the wait. Use it for names that the user gave; use read_file() for files found in a folder.
/// Errors: as read_file(); Interrupted.
std::string read_file_or_pipe(const fs::path& path, std::uint64_t max_bytes = max_parsed_file_bytes);

}  // namespace dt
