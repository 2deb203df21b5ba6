#pragma once
// Files that a user names for what a tool writes.

#include <filesystem>

namespace dt {

/// Throws Error{environment} where the folder that `file` is to lie in does not exist. Asked before the work,
/// not after it.
void require_folder_of(const std::filesystem::path& file);

}  // namespace dt
