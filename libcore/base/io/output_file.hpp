#pragma once
// Output files that a user names.

#include <filesystem>

#include "base/io/files.hpp"

namespace dt {

/// Checks, before the work begins, that the folder of `file` exists.
/// Errors: environment if it does not.
void require_parent_folder(const std::filesystem::path& file);

/// Opens a device or a pipe for writing; opening a pipe waits for its reader.
/// Errors: environment if it belongs to another user, or is a link that another user made.
File open_device(const std::filesystem::path& path);

}  // namespace dt
