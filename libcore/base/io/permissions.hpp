#pragma once
// Paths that strangers planted or can exchange. A stranger is any user except this one and root.

#include <optional>
#include <sys/stat.h>

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

// The users whom permission modes let read a file or folder. dt limits the readers of its outputs
// to those of its inputs.

/// The users, beside the owner, whom the modes of a set of files and folders let read all of them.
/// They are all users, one group, or no other user. A file with an access list (ACL) counts as
/// readable by no other user if the list may leave out members of the group.
class ReadAccess {
 public:
  /// Creates the audience of all users.
  ReadAccess() = default;
  /// Returns the users that may read a file or enter a folder. Follows links. For a pipe or a
  /// device these are all users, since its mode says nothing about the bytes that come from it.
  /// Errors: environment, input.
  static ReadAccess of(const fs::path& path);
  static ReadAccess of(const fs::path& path, const struct stat& status);
  /// Returns the users that may enter a file's folder and read the file.
  static ReadAccess of_file(const fs::path& path);

  /// Keeps only users that are in both audiences.
  ReadAccess& operator&=(const ReadAccess& other);
  /// Returns `mode` without the bits that let other users read or enter an entry that belongs to
  /// `group`.
  mode_t restricted_mode(mode_t mode, gid_t group) const;

 private:
  bool is_everybody_ = true;
  std::optional<gid_t> group_;  // none if only the owner may read; unused if is_everybody_
};

/// Removes mode bits from the user's own file or folder so that only `audience` may read it. A
/// narrowed folder hides everything in it.
/// Errors: environment.
void restrict_readers(const fs::path& path, const ReadAccess& audience);

}  // namespace dt
