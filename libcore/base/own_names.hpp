#pragma once
// Names in a folder that is held open: what has a name there is opened, made or removed only where it is what
// a tool of dt makes there. OwnFolder, File and FileLock are built of these. `shown` is the name's path, for
// errors.

#include <functional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"

namespace dt {

/// Returns whether a name that a tool meets is one that it makes itself.
using NamePredicate = std::function<bool(const std::string& name)>;

/// "user mallory (uid 1001)"
std::string describe_user(uid_t user);

/// Returns "" or who else may write to a folder by its mode: "members of group 'lab'", "everybody", "its
/// owner, user mallory (uid 1001)". A group that has the user's own name and lists no other members counts as
/// the user; so does the user's primary group where neither has a name.
std::string describe_other_writers(const fs::path& folder);

/// Returns whether anyone, not just members of a folder's group, may have put a name into it: everybody may
/// write to it, or it is sticky, so that its users are not meant to change each other's names.
bool admits_strangers(const struct stat& folder);

/// Returns whether what `owner` has in a folder may be a stranger's: it belongs neither to this user, nor to
/// root or the folder's owner, and the folder admits strangers. In a group's folder, the user chose to share.
bool is_strangers(uid_t owner, const struct stat& folder);

/// Error{environment} for something that is in the way. `expected`: "a folder".
Error foreign_error(const fs::path& shown, const struct stat& found, const std::string& expected);

/// Error{environment} where the path's last name is a symbolic link that a stranger made: neither this user,
/// nor root, nor the owner of the folder that it lies in; or where it leads to a pipe, a socket or a device
/// of a stranger's, which might wait for ever.
void refuse_foreign(const fs::path& path);

/// Removes a file and syncs its folder; nothing where it is not there, or is_strangers(). Errors:
/// environment.
void remove_own_file(const fs::path& path);

/// Returns whether `user` is the user of this process, as the file system of the folder `folder` numbers
/// users: a server may give root, or everybody, another number. Then a file is made there, asked, and
/// removed.
bool is_own(uid_t user, int folder);

/// Returns which of the bits 022 (others may write) a name in a folder may have: those of the folder, none
/// where its sticky bit keeps others from its names, and the group's only where the group is the same.
mode_t write_bits_given(const struct stat& folder, gid_t group);

/// Opens the folder that holds a path's last name, for calls relative to it. Symbolic links above the name
/// are the user's own choice and are followed, once. Errors: of system_error for `action` on the path.
int open_parent(const fs::path& path, const char* action);

/// Makes a regular file anew, for reading and writing. What an earlier process of the same user left under
/// the name is removed first. Errors: environment, also where anything else has the name.
int create_file_at(int folder, const std::string& name, const fs::path& shown, mode_t mode = 0666);

/// Opens a regular file that is no symbolic link; makes it where `flags` have O_CREAT. It must have one name,
/// but with Owner::anyone in a folder that does not admit strangers. Never waits. Errors: environment where
/// anything else has the name; of system_error.
int open_file_at(int folder, const std::string& name, const fs::path& shown, int flags, Owner owner,
                 mode_t mode = 0666);

/// Opens a real folder of this user's. Nobody may write to it who may not write to `folder`. `making` decides
/// whether a missing folder is made, with at most the permissions `most`. Returns -1 where it is missing and
/// not made, or where `Making::anew` finds that something has the name.
enum class Making { never, missing, anew };
int open_folder_at(int folder, const std::string& name, const fs::path& shown, Making making, mode_t most);

/// Opens a lock file and makes it where it is missing. With Owner::anyone, it appears with its final mode,
/// and those alone may open it who may write to `folder`; it may have several names, as nothing is written to
/// it. With Owner::self this user alone may open it.
int open_lock_at(int folder, const std::string& name, const fs::path& shown, Owner owner);

/// Returns the names in an open folder, in no order. Errors: environment.
std::vector<std::string> names_in(int folder, const fs::path& shown);

/// Removes what has the name, a folder with all that is in it, through descriptors: follows no symbolic link,
/// enters no mount, and leaves what belongs to neither this user nor `user`, and names, `name` among them,
/// that `is_ours` (where there is one) does not know. Goes on with the rest where an entry stays. Returns ""
/// or the first such entry and why.
std::string remove_at(int folder, const std::string& name, const fs::path& shown, uid_t user,
                      const NamePredicate& is_ours = {});

}  // namespace dt
