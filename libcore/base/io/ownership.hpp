#pragma once
// Paths that strangers planted or can exchange. A stranger is any user except this one and root.

#include "base/io/files.hpp"

namespace dt {

/// Refuses what refuse_foreign() refuses. Also refuses a path that leads through an entry of a
/// stranger in a folder to which everybody may write, such as /tmp. The entry may be a folder or a
/// link on the way, or the path itself. There any user may have taken the name first. The call
/// accepts a folder that only a group may write to: the user has chosen to trust the group.
/// Errors: environment.
void refuse_untrusted_path(const fs::path& path);

/// Makes a folder, as create_folders() does, in which a tool keeps files that it finds again by path.
/// Refuses what refuse_untrusted_path() refuses. Also refuses the folder if everybody may rename
/// entries in it, or in a folder on the way to it: all users may write there, and the sticky bit is
/// not set.
/// Errors: environment.
void make_private_storage(const fs::path& folder);

}  // namespace dt
