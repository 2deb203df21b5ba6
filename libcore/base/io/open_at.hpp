#pragma once
// Names in a folder that is held open. These functions open, create or remove an entry only if it
// is of the kind that dt creates there. OwnedFolder, File and FileLock are built on them. `shown` is
// the name's path, for errors.

#include <cerrno>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <vector>

#include "base/io/files.hpp"

namespace dt {

/// Repeats a call after a signal (EINTR), and once after a file that its server has replaced
/// (ESTALE).
template <class Call>
auto repeated(Call call) {
  bool was_stale = false;
  for (;;) {
    const auto result = call();
    if (result >= 0 || (errno != EINTR && (errno != ESTALE || was_stale))) return result;
    was_stale = errno == ESTALE;
  }
}

/// Returns whether a call failed because the file system does not support it.
inline bool is_unsupported(int error_number) {
  return error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP ||
         error_number == EPERM;
}

/// Returns whether a name is one that the tool itself creates.
using NamePredicate = std::function<bool(const std::string& name)>;

/// Removes a file and syncs its folder. Does nothing if there is no file, or
/// is_owned_by_stranger() holds for it.
/// Errors: environment.
void remove_own_file(const fs::path& path);

/// Returns whether `user` is this process's user in the numbering of the file system of `folder`. A
/// server may map root, or all users, to another number. The function then creates a file there,
/// inspects its owner and removes it.
bool is_own(uid_t user, int folder);

/// Returns which of the bits 022 (others may write) a name in a folder may have. These are the
/// folder's bits, or none if its sticky bit keeps others from its names. The group's bit is granted
/// only if the group is the same.
mode_t write_bits_given(const struct stat& folder, gid_t group);

/// Opens the folder that holds a path's last component, for calls relative to it. Symbolic links
/// above the component are the user's own choice; the call follows them, once.
/// Errors: as system_error() for `action` on the path.
int open_parent(const fs::path& path, const char* action);

/// Creates a regular file for reading and writing. Removes first what an earlier process of the
/// same user left under the name.
/// Errors: environment, also if anything else has the name.
int create_file_at(int folder, const std::string& name, const fs::path& shown, mode_t mode = 0666);

/// Opens a regular file that is not a symbolic link. Creates it if `flags` contain O_CREAT. It must
/// have one name only, except with Owner::anyone in a folder that does not admit strangers. Never
/// waits.
/// Errors: environment if anything else has the name; as system_error().
int open_file_at(int folder, const std::string& name, const fs::path& shown, int flags, Owner owner,
                 mode_t mode = 0666);

/// Opens a real folder of this user. No user may write to it that may not write to `folder`.
/// `making` decides whether a missing folder is created, with at most the mode `most`. Returns -1
/// if it is missing and not created, or if `Making::anew` finds that the name is taken.
enum class CreateMode { never, if_missing, exclusive };
int open_folder_at(int folder, const std::string& name, const fs::path& shown, CreateMode making,
                   mode_t most);

/// Opens a lock file, and creates it if it is missing. With Owner::anyone it appears with its final
/// mode, and only users that may write to `folder` may open it. It may then have several names, as
/// nothing is written to it. With Owner::self only this user may open it.
int open_lock_at(int folder, const std::string& name, const fs::path& shown, Owner owner);

/// Returns the names in an open folder, in no order.
/// Errors: environment.
std::vector<std::string> entries_in(int folder, const fs::path& shown);

/// Removes an entry, and a folder with everything in it, through descriptors. Follows no symbolic
/// link and enters no mount. Leaves entries that belong to neither this user nor `user`. If
/// `is_ours` is set, leaves the names that it rejects; it also judges `name` itself. Continues with
/// the rest if an entry stays. Returns "", or the first such entry and why it stays.
std::string remove_at(int folder, const std::string& name, const fs::path& shown, uid_t user,
                      const NamePredicate& is_ours = {});

}  // namespace dt
