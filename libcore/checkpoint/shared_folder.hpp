#pragma once
// Folders that several hosts see through a network file system, each with a view of its own that may be old.

#include <filesystem>

namespace dt::checkpoint {

namespace fs = std::filesystem;

/// How long another host's file or folder may take to be seen here.
inline constexpr double default_patience_s = 5;

/// Returns once `path` exists here, asking the file system anew until `patience_s` have passed. Errors:
/// environment, naming host and path.
void wait_until_visible(const fs::path& path, double patience_s);

}  // namespace dt::checkpoint
