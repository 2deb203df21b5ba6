#pragma once
// Paths and folders: what exists under a path, and the creation, syncing and removal of folders. Paths
// in errors appear as the caller gave them.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

namespace fs = std::filesystem;

/// Returns whether a text can name a file in the same folder: not empty or hidden, without slashes
/// and NUL.
bool is_plain_file_name(std::string_view name);
/// Returns the path without a trailing slash: "runs/a/" names what "runs/a" names.
fs::path without_trailing_slash(const fs::path& path);
/// Returns the path of the folder that holds the path's last component: "." for a plain name.
fs::path parent_of(const fs::path& path);

/// Returns whether the path exists, following links.
/// Errors: environment if that cannot be determined. A path that this user may not look up must
/// never pass for a missing one.
bool path_exists(const fs::path& path);
/// Return the same for a folder and for a regular file.
bool folder_exists(const fs::path& path);
bool file_exists(const fs::path& path);
/// Returns the entries of a folder in no order, or nothing if there is no such folder.
/// Errors: as path_exists().
std::vector<fs::path> entries_of(const fs::path& folder);

/// Checks, before the work begins, that the folder of `file` exists.
/// Errors: environment if it does not.
void require_parent_folder(const fs::path& file);

void sync_directory(const fs::path& path);

/// Creates a folder and its missing ancestors. Syncs each new name, so that no crash after the
/// return loses it. Does nothing if the folder exists.
void create_folders(const fs::path& path);

/// Removes a file, or a folder with everything in it. Follows no symbolic link. Continues with the
/// rest if an entry cannot be removed. Examples are an NFS client's .nfs file, a mount, and an
/// entry that belongs to neither this user nor the owner of `path`. Returns "", or the first such
/// entry and why it stays. An entry that is already gone is no failure.
std::string remove_tree(const fs::path& path);

/// Default time for another host's file or folder to become visible here. A network file system shows
/// each host a view that may be out of date.
inline constexpr double default_visibility_timeout_s = 5;

/// Blocks until `path` exists here. Asks the file system repeatedly, until `timeout_s` have
/// passed.
/// Errors: environment, naming host and path, on timeout.
void wait_until_visible(const fs::path& path, double timeout_s);

}  // namespace dt
