#pragma once
// Paths that strangers planted or can exchange. A stranger is any user except this one and root.

#include "base/files.hpp"

namespace dt {

/// Refuses what refuse_foreign() refuses. Also refuses a path if it, or a folder or link on the way
/// to it, belongs to a stranger and lies in a folder to which everybody may write, such as /tmp.
/// There any user may have taken the name first. In a group's folder, the user chose to share.
/// Errors: environment.
void refuse_strangers_folder(const fs::path& path);

/// Makes a folder, as make_folders() does, in which a tool keeps files that it finds again by path.
/// Refuses what refuse_strangers_folder() refuses. Also refuses it if the folder, or one on the way
/// to it, lets everybody rename its entries: everybody may write to it, and it has no sticky bit.
/// Errors: environment.
void make_storage(const fs::path& folder);

}  // namespace dt
