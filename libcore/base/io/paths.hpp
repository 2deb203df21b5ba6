#pragma once
// Folders that several hosts see through a network file system. Each host's view may be out of
// date.

#include <filesystem>

namespace dt::checkpoint {

namespace fs = std::filesystem;

/// Default time for another host's file or folder to become visible here.
inline constexpr double default_visibility_timeout_s = 5;

/// Blocks until `path` exists here. Asks the file system repeatedly, until `timeout_s` have
/// passed.
/// Errors: environment, naming host and path, on timeout.
void wait_until_visible(const fs::path& path, double timeout_s);

}  // namespace dt::checkpoint
