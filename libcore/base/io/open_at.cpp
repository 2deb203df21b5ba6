#include "base/io/open_at.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <stdio.h>  // renameat2
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/permissions.hpp"
#include "base/system/host.hpp"

namespace dt {

namespace {

constexpr mode_t others_write = 022;

/// An owned descriptor. The destructor closes it unless it was released.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

int open_at(int folder, const std::string& name, int flags, mode_t mode = 0) {
  return repeated([&] { return ::openat(folder, name.c_str(), flags | O_CLOEXEC, mode); });
}

struct stat status_of(int descriptor, const fs::path& shown) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error(errno, "stat", shown.string());
  return status;
}

/// Returns the entry's status, or false if nothing has the name.
bool stat_at(int folder, const std::string& name, const fs::path& shown, struct stat& status) {
  if (repeated([&] { return ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW); }) == 0)
    return true;
  if (errno == ENOENT) return false;
  throw system_error(errno, "stat", shown.string());
}

/// Returns whether an existing file may be used. The members of a folder's group are trusted with
/// its names: `cp -al` gives files second names.
bool is_usable_file(const struct stat& status, int folder, Owner owner, const fs::path& shown) {
  if (!S_ISREG(status.st_mode)) return false;
  if (owner == Owner::self) return status.st_nlink <= 1 && is_own(status.st_uid, folder);
  return status.st_nlink <= 1 || !is_writable_by_strangers(status_of(folder, shown.parent_path()));
}

/// Returns the error of a call that failed with `error_number`. If the entry there is not the
/// user's or of another kind, the error describes it instead.
Error error_of(int error_number, int folder, const std::string& name, const fs::path& shown,
               const std::string& action, const std::string& expected) {
  struct stat status {};
  const bool is_there = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  const mode_t kind = expected == "a folder" ? S_IFDIR : S_IFREG;
  if (is_there && ((status.st_mode & S_IFMT) != kind || !is_own(status.st_uid, folder)))
    return not_owned_error(shown, status, expected);
  return system_error(error_number, action, shown.string());
}

/// Returns the number that the folder's file system gives to this user's files. Creates a file to
/// find out.
uid_t user_in(int folder) {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    const std::string name = fmt::format(".dt-owner.tmp-{}-{}-{}", host_name().substr(0, 63), ::getpid(), i);
    const Descriptor file(open_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) break;
    struct stat status {};
    const bool is_known = ::fstat(file.get(), &status) == 0;
    ::unlinkat(folder, name.c_str(), 0);
    if (is_known) return status.st_uid;
    break;
  }
  return ::geteuid();
}

void check_folder(const struct stat& status, int folder, const fs::path& shown) {
  if (!S_ISDIR(status.st_mode) || !is_own(status.st_uid, folder))
    throw not_owned_error(shown, status, "a folder");
  const struct stat parent = status_of(folder, shown.parent_path());
  const mode_t wide = status.st_mode & others_write & ~write_bits_given(parent, status.st_gid);
  if (wide == 0) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("other users may write to {} (mode {:04o}), although its parent folder does not allow it",
                  shown.string(), status.st_mode & 07777),
      "delete it, or run chmod go-w on it if its contents are yours");
}

void restrict_mode(int descriptor, mode_t mode, mode_t most, const fs::path& shown) {
  const mode_t narrowed = mode & 07777 & (most | 07000);
  if (narrowed != (mode & 07777) && ::fchmod(descriptor, narrowed) != 0)
    throw system_error(errno, "change the permissions of", shown.string());
}

/// Gives a lock file the group of its folder if permitted. Lets the users write that may write to
/// the folder.
void open_to_writers(int lock, int folder, const fs::path& shown) {
  const struct stat parent = status_of(folder, shown.parent_path());
  struct stat status = status_of(lock, shown);
  if (status.st_gid != parent.st_gid && ::fchown(lock, static_cast<uid_t>(-1), parent.st_gid) == 0)
    status = status_of(lock, shown);
  mode_t mode = 0600;
  if ((parent.st_mode & S_IWGRP) != 0 && parent.st_gid == status.st_gid) mode |= S_IRGRP | S_IWGRP;
  if ((parent.st_mode & S_IWOTH) != 0 && (parent.st_mode & S_ISVTX) == 0) mode |= 0066;
  if (::fchmod(lock, mode) != 0) throw system_error(errno, "change the permissions of", shown.string());
}

/// Creates a lock file under a temporary name, so that no process opens it before it has its mode.
/// If the name is taken meanwhile, the existing file stays.
void make_lock(int folder, const std::string& name, const fs::path& shown) {
  const std::string temporary =
      fmt::format(".{}.tmp-{}-{}-{}", name, host_name().substr(0, 63), ::getpid(), ::gettid());
  const Descriptor made(create_file_at(folder, temporary, shown, 0600));
  open_to_writers(made.get(), folder, shown);
  if (::renameat2(folder, temporary.c_str(), folder, name.c_str(), RENAME_NOREPLACE) == 0) return;
  const bool is_taken = errno == EEXIST;
  // Some network file systems lack the flag.
  const bool is_made =
      is_taken || ::linkat(folder, temporary.c_str(), folder, name.c_str(), 0) == 0 || errno == EEXIST;
  ::unlinkat(folder, temporary.c_str(), 0);
  if (is_made) return;
  const Descriptor plain(open_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (plain.get() >= 0) open_to_writers(plain.get(), folder, shown);
}

std::string describe_not_removed(const fs::path& shown, int error_number) {
  return fmt::format("{}: {}", shown.string(), std::generic_category().message(error_number));
}

/// The user that removes a tree, and the names that may be removed.
struct TreeRemoval {
  uid_t user;
  dev_t device;
  const NamePredicate& is_ours;

  std::string remove(int folder, const std::string& name, const fs::path& shown) const;
  std::string empty(int folder, const std::string& name, const fs::path& shown) const;
};

std::string TreeRemoval::empty(int folder, const std::string& name, const fs::path& shown) const {
  const Descriptor inner(open_at(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (inner.get() < 0) return errno == ENOENT ? "" : describe_not_removed(shown, errno);
  struct stat status {};
  if (::fstat(inner.get(), &status) != 0) return describe_not_removed(shown, errno);
  if (status.st_dev != device) return fmt::format("{}: another file system is mounted there", shown.string());
  if (status.st_uid != user && status.st_uid != ::geteuid())
    return fmt::format("{}: it belongs to {}", shown.string(), describe_user(status.st_uid));
  std::string why;
  try {
    for (const std::string& entry : entries_in(inner.get(), shown)) {
      const std::string first = remove(inner.get(), entry, shown / entry);
      if (why.empty()) why = first;
    }
  } catch (const Error& error) {
    return error.message();
  }
  return why;
}

std::string TreeRemoval::remove(int folder, const std::string& name, const fs::path& shown) const {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? "" : describe_not_removed(shown, errno);
  if (is_ours && !is_ours(name)) return fmt::format("{}: dt did not create this name", shown.string());
  if (status.st_uid != user && status.st_uid != ::geteuid())
    return fmt::format("{}: it belongs to {}", shown.string(), describe_user(status.st_uid));
  const bool is_folder = S_ISDIR(status.st_mode);
  if (is_folder) {
    if (std::string why = empty(folder, name, shown); !why.empty()) return why;
  }
  const int result = repeated([&] { return ::unlinkat(folder, name.c_str(), is_folder ? AT_REMOVEDIR : 0); });
  return result == 0 || errno == ENOENT ? "" : describe_not_removed(shown, errno);
}

}  // namespace

void remove_own_file(const fs::path& path) {
  struct stat status {
  }, folder{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    throw system_error(errno, "remove", path.string());
  }
  const Descriptor parent(open_parent(path, "remove"));
  if (::fstat(parent.get(), &folder) != 0) throw system_error(errno, "remove", path.string());
  if (is_owned_by_stranger(status.st_uid, folder)) return;
  if (::unlinkat(parent.get(), path.filename().c_str(), 0) == 0) return sync_directory(parent_of(path));
  if (errno != ENOENT) throw system_error(errno, "remove", path.string());
}

bool is_own(uid_t user, int folder) {
  return user == ::geteuid() || user == user_in(folder);
}

mode_t write_bits_given(const struct stat& folder, gid_t group) {
  if ((folder.st_mode & S_ISVTX) != 0) return 0;
  const mode_t given = folder.st_mode & others_write;
  return folder.st_gid == group ? given : given & ~mode_t{S_IWGRP};
}

int open_parent(const fs::path& path, const char* action) {
  const int descriptor = open_at(AT_FDCWD, parent_of(path).string(), O_PATH | O_DIRECTORY);
  if (descriptor < 0) throw system_error(errno, action, path.string());
  return descriptor;
}

int create_file_at(int folder, const std::string& name, const fs::path& shown, mode_t mode) {
  constexpr int attempts = 100;  // other processes may race
  for (int i = 0; i < attempts; ++i) {
    const int made = open_at(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (made >= 0) return made;
    if (errno != EEXIST) throw error_of(errno, folder, name, shown, "create", "a file");
    struct stat status {};
    if (!stat_at(folder, name, shown, status)) continue;
    if (!S_ISREG(status.st_mode) || !is_own(status.st_uid, folder))
      throw not_owned_error(shown, status, "a file");
    if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT)
      throw system_error(errno, "replace", shown.string());
  }
  throw system_error(EEXIST, "create", shown.string());
}

int open_file_at(int folder, const std::string& name, const fs::path& shown, int flags, Owner owner,
                 mode_t mode) {
  // A device or a pipe must not even be opened. An entry that replaces the file after this check is
  // rejected below.
  struct stat status {};
  if (stat_at(folder, name, shown, status) && !is_usable_file(status, folder, owner, shown))
    throw not_owned_error(shown, status, "a file");
  Descriptor file(open_at(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode));
  if (file.get() < 0) {
    const char* const action = (flags & O_ACCMODE) == O_RDONLY ? "open"
                               : (flags & O_APPEND) != 0       ? "open for appending"
                                                               : "open for writing";
    if (owner == Owner::self || errno == ELOOP) throw error_of(errno, folder, name, shown, action, "a file");
    throw system_error(errno, action, shown.string());
  }
  status = status_of(file.get(), shown);
  if (!is_usable_file(status, folder, owner, shown)) throw not_owned_error(shown, status, "a file");
  return file.release();
}

int open_folder_at(int folder, const std::string& name, const fs::path& shown, CreateMode making,
                   mode_t most) {
  const struct stat parent = status_of(folder, shown.parent_path());
  // The folder must never be wider than this, not even for a moment.
  const mode_t mode = most & ~(others_write & ~((parent.st_mode & S_ISVTX) != 0 ? 0 : parent.st_mode));
  const bool is_made = making != CreateMode::never && ::mkdirat(folder, name.c_str(), mode) == 0;
  if (!is_made && making != CreateMode::never && errno != EEXIST)
    throw error_of(errno, folder, name, shown, "create", "a folder");
  if (!is_made && making == CreateMode::exclusive) return -1;
  Descriptor opened(open_at(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (opened.get() < 0 && errno == ENOENT && making == CreateMode::never) return -1;
  if (opened.get() < 0) throw error_of(errno, folder, name, shown, "open", "a folder");
  struct stat status = status_of(opened.get(), shown);
  if (is_made) {  // its group may lack the parent's writers, or an access list may apply
    restrict_mode(opened.get(), status.st_mode, ~others_write | write_bits_given(parent, status.st_gid),
                  shown);
    status = status_of(opened.get(), shown);
  }
  check_folder(status, folder, shown);
  restrict_mode(opened.get(), status.st_mode, most, shown);
  return opened.release();
}

int open_lock_at(int folder, const std::string& name, const fs::path& shown, Owner owner) {
  constexpr mode_t private_mode = 0600;
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT;
  if (owner == Owner::self) return open_file_at(folder, name, shown, flags, owner, private_mode);
  struct stat status {};
  if (!stat_at(folder, name, shown, status)) make_lock(folder, name, shown);
  // Nothing is written to a lock, so a second name does no harm.
  if (stat_at(folder, name, shown, status) && !S_ISREG(status.st_mode))
    throw not_owned_error(shown, status, "a file");
  Descriptor file(open_at(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, private_mode));
  if (file.get() < 0) {
    if (errno == ELOOP) throw error_of(errno, folder, name, shown, "open", "a file");
    throw system_error(errno, "open for appending", shown.string());
  }
  status = status_of(file.get(), shown);
  if (!S_ISREG(status.st_mode)) throw not_owned_error(shown, status, "a file");
  return file.release();
}

std::vector<std::string> entries_in(int folder, const fs::path& shown) {
  const int again = open_at(folder, ".", O_RDONLY | O_DIRECTORY);  // with a position of its own
  if (again < 0) throw system_error(errno, "list", shown.string());
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::fdopendir(again), ::closedir);
  if (opened == nullptr) {
    const int error_number = errno;
    ::close(again);
    throw system_error(error_number, "list", shown.string());
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(opened.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) throw system_error(errno, "list", shown.string());
  return names;
}

std::string remove_at(int folder, const std::string& name, const fs::path& shown, uid_t user,
                      const NamePredicate& is_ours) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT || errno == ENOTDIR ? "" : describe_not_removed(shown, errno);
  return TreeRemoval{user, status.st_dev, is_ours}.remove(folder, name, shown);
}

}  // namespace dt
