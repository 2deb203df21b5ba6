#pragma once
// Paths that strangers planted or can exchange. A stranger is a user who is neither this one nor root.

#include "base/files.hpp"

namespace dt {

/// Does what refuse_foreign() does. Also throws Error{environment} where a folder or link on the way to the
/// path, or the path itself, is a stranger's in a folder where everybody may write, such as /tmp: whoever
/// came first took it. In a group's folder, the user chose to share.
void refuse_strangers_folder(const fs::path& path);

/// Makes a folder in which a tool keeps what it uses again by its path, as make_folders() does. Does what
/// refuse_strangers_folder() does. Also throws Error{environment} where the folder, or one on the way to it,
/// lets everybody rename what is in it: everybody may write to it, and it has no sticky bit.
void make_storage(const fs::path& folder);

}  // namespace dt
