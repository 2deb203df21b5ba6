#pragma once
// Other users of the system: paths that strangers planted or can exchange, and files that others may
// read. A stranger is any user except this one and root. Some functions also exempt the folder's owner. dt
// limits the readers of its outputs to those of its inputs.

#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.hpp"
#include "base/io/paths.hpp"

namespace dt {

/// Returns a user's description, such as "user mallory (uid 1001)".
std::string describe_user(uid_t user);

/// Returns the other users that a folder's mode lets write: "members of group 'lab'", "everybody",
/// "its owner, user mallory (uid 1001)". Returns "" if there are none. A group that has the user's
/// own name and lists no other members counts as the user. So does the user's primary group if
/// neither user nor group has a name.
std::string describe_other_writers(const fs::path& folder);

/// Returns whether users outside a folder's group may have put a name into it: everybody may write
/// to it, or it is sticky. A sticky folder's users are not meant to change each other's names.
bool is_writable_by_strangers(const struct stat& folder);

/// Returns whether an entry of `owner` in a folder may be a stranger's: the folder admits
/// strangers, and `owner` is neither this user, nor root, nor the folder's owner. The owner of an
/// entry in a group's folder is no stranger: the user has chosen to trust the group.
bool is_owned_by_stranger(uid_t owner, const struct stat& folder);

/// Returns the environment error about an entry that is in the way. `expected` is a noun: "a
/// folder".
Error not_owned_error(const fs::path& shown, const struct stat& found, const std::string& expected);

/// Refuses a path whose last component is a symbolic link of a stranger, or leads to a stranger's
/// pipe, socket or device, which might block for ever. A stranger is neither this user, nor root,
/// nor the owner of the folder.
/// Errors: environment.
void refuse_foreign(const fs::path& path);

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

/// The users, beside the owner, whom the modes of a set of files and folders let read all of them.
/// They are all users, one group, or no other user. A file with an access list (ACL) counts as
/// readable by no other user if the list may leave out members of the group.
class ReadAccess {
 public:
  /// Creates the audience of all users.
  ReadAccess() = default;
  /// Returns the users that may read a file or enter a folder. Follows links. For a pipe or a
  /// device these are all users, since its mode does not restrict the bytes that come from it.
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
