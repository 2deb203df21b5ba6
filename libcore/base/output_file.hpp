#pragma once
// Files that a user names for what a tool writes.

#include <filesystem>

#include "base/files.hpp"

namespace dt {

/// Throws Error{environment} where the folder that `file` is to lie in does not exist. Asked before the work,
/// not after it.
void require_folder_of(const std::filesystem::path& file);

/// Opens a device or a pipe for writing; a pipe waits for its reader. Errors: environment, where it is
/// another user's, or a link that another user made.
File open_device(const std::filesystem::path& path);

}  // namespace dt
