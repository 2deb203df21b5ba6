#include "base/io/atomic_files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <stdio.h>  // renameat2
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/open_at.hpp"
#include "base/io/owned_folder.hpp"
#include "base/io/paths.hpp"
#include "base/io/permissions.hpp"
#include "base/system/concurrent_calls.hpp"
#include "base/system/host.hpp"

namespace dt {

namespace {

/// Opens the folder that holds the last component of `path`. All names of one call lie in this
/// folder.
File open_parent_of(const fs::path& path) {
  return File::adopt(open_parent(path, "create"), parent_of(path));
}

bool name_taken(const File& parent, const std::string& name) {
  struct stat status {};
  return ::fstatat(parent.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool name_taken(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// Returns `path` without a trailing slash ("runs/a/" becomes "runs/a").
/// Errors: input if the path has no last component that can be renamed.
fs::path named(fs::path path) {
  if (path.filename().empty()) path = path.parent_path();
  const fs::path name = path.filename();
  if (name.empty() || name == "." || name == ".." || name == "/") {
    throw Error(ErrorKind::input, fmt::format("'{}' cannot be created", path.string()),
                "give the name of a new file or folder");
  }
  return path;
}

/// Returns whether `path` is a device, a pipe or a socket, directly or through a link. Such a file
/// has no whole content to keep. A file in its place would break its other users: root may rename
/// over /dev/null.
/// Errors: as refuse_foreign().
bool is_special(const fs::path& path) {
  refuse_foreign(path);
  std::error_code unreadable;  // creating the file reports the error
  const fs::file_status status = fs::status(path, unreadable);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Calls `create` with hidden sibling names of `path` until it returns true, which means that the
/// name was free.
void make_temporary(const std::string& stem, const std::string& extension,
                    const std::function<bool(const std::string& name)>& create) {
  constexpr std::size_t max_stem_bytes = 160;  // leaves room in a name of 255 bytes
  constexpr int max_names = 10'000;            // other processes may have taken names
  const std::string base =
      fmt::format(".{}.tmp-{}-{}", stem.substr(0, max_stem_bytes), host_name().substr(0, 63), ::getpid());
  for (int i = 0; i < max_names; ++i) {
    if (create(base + (i == 0 ? "" : fmt::format("-{}", i)) + extension)) return;
  }
  throw environment_error("{}{} and {} other temporary names are already taken", base, extension,
                          max_names - 1);
}

/// Syncs the open folder and everything in it, many files several at a time. Follows no symbolic link.
void sync_tree(int folder, const fs::path& shown);

void sync_entry(int folder, const std::string& name, const fs::path& shown) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    throw system_error(errno, "sync", shown.string());
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return;
  const int descriptor = ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw system_error(errno, "open", shown.string());
  File entry = File::adopt(descriptor, shown);
  if (S_ISDIR(status.st_mode)) {
    sync_tree(descriptor, shown);
  } else {
    entry.sync();
    entry.close();
  }
}

void sync_tree(int folder, const fs::path& shown) {
  constexpr std::size_t many = 64;
  const std::vector<std::string> names = entries_in(folder, shown);
  call_concurrently(names.size(), names.size() < many ? 1 : max_concurrent_files,
                    [&](std::size_t i) { sync_entry(folder, names[i], shown / names[i]); });
  sync_descriptor(folder, shown);
}

Error exists_error(const fs::path& path) {
  return Error(ErrorKind::input, fmt::format("{} already exists", path.string()),
               "choose another name, delete it, or allow overwriting");
}

int rename_flagged(const File& folder, const std::string& from, const std::string& to, unsigned flags) {
  return ::renameat2(folder.descriptor(), from.c_str(), folder.descriptor(), to.c_str(), flags);
}

int rename_plainly(const File& folder, const std::string& from, const std::string& to) {
  return ::renameat(folder.descriptor(), from.c_str(), folder.descriptor(), to.c_str());
}

void rename_new_folder(const File& folder, const std::string& from, const fs::path& to) {
  const std::string name = to.filename();
  if (rename_flagged(folder, from, name, RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST || errno == ENOTEMPTY) throw exists_error(to);
  if (!is_unsupported(errno)) throw system_error(errno, "create", to.string());
  // Some network file systems lack the flag. rename(2) still refuses to replace a folder that is
  // not empty.
  if (name_taken(folder, name)) throw exists_error(to);
  if (rename_plainly(folder, from, name) == 0) return;
  if (errno == EEXIST || errno == ENOTEMPTY) throw exists_error(to);
  throw system_error(errno, "create", to.string());
}

/// Links the file under its second name, then removes the first. Returns 0 or an errno.
int link_new(const File& folder, const std::string& from, const std::string& to) {
  const int parent = folder.descriptor();
  if (::linkat(parent, from.c_str(), parent, to.c_str(), 0) != 0) {
    const int error_number = errno;
    // A network file system may repeat a request whose answer was lost. Two links then mean that
    // this link exists.
    struct stat status {};
    if (error_number != EEXIST || ::fstatat(parent, from.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_nlink != 2)
      return error_number;
  }
  ::unlinkat(parent, from.c_str(), 0);
  return 0;
}

/// Gives the file its new name. Returns false if the name is taken. Local file systems rename
/// without replacing; network file systems link. If neither works, an empty file claims the name
/// first.
/// After a crash: the empty file may remain.
bool publish_file(const File& folder, const std::string& from, const fs::path& path) {
  const std::string to = path.filename();
  int error_number = rename_flagged(folder, from, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (is_unsupported(error_number)) error_number = link_new(folder, from, to);
  if (is_unsupported(error_number)) {
    const int claim =
        ::openat(folder.descriptor(), to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error_number = claim < 0 ? errno : 0;
    if (claim >= 0) {
      ::close(claim);
      if (rename_plainly(folder, from, to) != 0) {
        error_number = errno;
        ::unlinkat(folder.descriptor(), to.c_str(), 0);
      }
    }
  }
  if (error_number != 0 && error_number != EEXIST) throw system_error(error_number, "create", path.string());
  return error_number == 0;
}

/// Returns the name of a folder while its own name passes to another folder.
std::string aside_of(const fs::path& path) {
  return "." + path.filename().string() + replaced_suffix;
}

/// Returns whether the file or folder in `status` cannot belong to a stranger.
bool is_trusted(const File& parent, const struct stat& status) {
  struct stat folder {};
  if (::fstat(parent.descriptor(), &folder) == 0 && !is_owned_by_stranger(status.st_uid, folder)) return true;
  return is_own(status.st_uid, parent.descriptor());
}

/// Checks that no stranger has taken the name that is to be replaced.
/// Errors: environment if a stranger has.
void check_replaceable(const File& parent, const fs::path& path) {
  struct stat status {};
  if (::fstatat(parent.descriptor(), path.filename().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!is_trusted(parent, status)) throw not_owned_error(path, status, "a folder");
}

/// Removes `name` with everything in it, unless it belongs to a stranger. Returns "" or the reason
/// why it stays.
std::string remove_replaced(const File& parent, const std::string& name) {
  struct stat status {};
  if (::fstatat(parent.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return "";
  if (!is_trusted(parent, status)) return fmt::format("it belongs to {}", describe_user(status.st_uid));
  return remove_at(parent.descriptor(), name, parent.path() / name, status.st_uid);
}

bool restore_replaced_in(const File& parent, const fs::path& path) {
  const std::string aside = aside_of(path), name = path.filename();
  struct stat status {};
  if (::fstatat(parent.descriptor(), aside.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      name_taken(parent, name) || !S_ISDIR(status.st_mode) || !is_trusted(parent, status))
    return false;
  if (rename_plainly(parent, aside, name) != 0) {
    const bool somebody_else_did = errno == ENOENT || errno == EEXIST || errno == ENOTEMPTY;
    if (somebody_else_did) return false;
    throw system_error(errno, "create", path.string());
  }
  sync_directory(parent.path());
  return true;
}

/// Puts `from` under the name of `to`. If `to` existed, its old content is left under the returned
/// name.
std::string swap_folders(const File& parent, const std::string& from, const fs::path& to) {
  const std::string name = to.filename();
  check_replaceable(parent, to);
  if (rename_flagged(parent, from, name, RENAME_EXCHANGE) == 0) return from;
  if (errno != ENOENT && !is_unsupported(errno)) throw system_error(errno, "replace", to.string());
  if (!name_taken(parent, name)) {
    rename_new_folder(parent, from, to);
    return {};
  }
  const std::string aside = aside_of(to);
  remove_replaced(parent, aside);  // stale, since `to` exists; if it stays, the rename below reports it
  if (rename_plainly(parent, name, aside) != 0)
    throw system_error(errno, "create", (parent.path() / aside).string());
  if (rename_plainly(parent, from, name) != 0) {
    const int error_number = errno;
    restore_replaced_in(parent, to);
    throw system_error(error_number, "create", to.string());
  }
  return aside;
}

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view content) {
  if (is_special(path)) {
    File file = open_device(path);
    file.write(content);
    return file.close();
  }
  AtomicFile target(path);
  File file = target.open();
  file.write(content);
  file.close();
  target.commit(true);
}

bool create_file_exclusively(const fs::path& path, std::string_view content) {
  if (name_taken(path)) return false;
  AtomicFile target(path);
  File file = target.open();
  file.write(content);
  file.close();
  return target.commit_new();
}

fs::path partial_path(const fs::path& final_path) {
  const fs::path path = named(final_path);
  return parent_of(path) / ("." + path.filename().string() + ".partial");
}

bool restore_replaced(const fs::path& final_path) {
  const fs::path path = named(final_path);
  if (!name_taken(parent_of(path) / aside_of(path))) return false;
  return restore_replaced_in(open_parent_of(path), path);
}

AtomicDirectory::AtomicDirectory(fs::path final_path, bool stays)
    : final_path_(named(std::move(final_path))), keeps_partial_(stays) {
  const fs::path parent = parent_of(final_path_);
  create_folders(parent);
  parent_ = open_parent_of(final_path_);
  check_replaceable(parent_, final_path_);
  restore_replaced_in(parent_, final_path_);
  const auto open = [&](const std::string& name, CreateMode making) {
    const int made = open_folder_at(parent_.descriptor(), name, parent / name, making, 0777);
    if (made >= 0)
      folder_ = std::make_unique<OwnedFolder>(OwnedFolder::adopt(File::adopt(made, parent / name)));
    return made >= 0;
  };
  if (keeps_partial_) {
    open(partial_path(final_path_).filename(), CreateMode::if_missing);
    sync_directory(parent);
  } else {
    make_temporary(final_path_.filename().string(), "",
                   [&](const std::string& name) { return open(name, CreateMode::exclusive); });
  }
}

AtomicDirectory::AtomicDirectory(fs::path final_path) : AtomicDirectory(std::move(final_path), false) {}

AtomicDirectory AtomicDirectory::partial(fs::path final_path) {
  return {std::move(final_path), true};
}

const fs::path& AtomicDirectory::path() const {
  return folder_->path();
}

AtomicDirectory::~AtomicDirectory() {
  if (committed_ || keeps_partial_) return;
  try {
    // The name may have passed to another user's folder, which must stay.
    if (folder_->is_in_place()) remove_at(parent_.descriptor(), path().filename(), path(), ::geteuid());
  } catch (const Error&) {
    // The folder stays behind. The error that ended the work matters more.
  }
}

void AtomicDirectory::commit(bool overwrite) {
  if (!overwrite && name_taken(parent_, final_path_.filename())) throw exists_error(final_path_);
  sync_tree(folder_->descriptor(), path());
  if (!folder_->is_in_place())
    throw environment_error("{} was moved or replaced while it was being written", path().string());
  std::string old;
  if (overwrite) {
    old = swap_folders(parent_, path().filename(), final_path_);
  } else {
    rename_new_folder(parent_, path().filename(), final_path_);
  }
  committed_ = true;
  sync_directory(parent_of(final_path_));
  if (!old.empty()) remove_replaced(parent_, old);
}

AtomicFile::AtomicFile(fs::path final_path) : final_path_(named(std::move(final_path))) {
  if (is_special(final_path_)) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot create {}: it is a device, a pipe or a socket", final_path_.string()),
                "give the name of a regular file");
  }
  const fs::path parent = parent_of(final_path_);
  create_folders(parent);
  parent_ = open_parent_of(final_path_);
  const std::string extension = final_path_.extension().string().substr(0, 32);
  make_temporary(final_path_.stem().string(), extension, [&](const std::string& name) {
    const int made = ::openat(parent_.descriptor(), name.c_str(),
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    temporary_path_ = parent / name;
    if (made >= 0) file_ = File::adopt(made, temporary_path_);
    if (made < 0 && errno != EEXIST && errno != EINTR)
      throw system_error(errno, "create", temporary_path_.string());
    return made >= 0;
  });
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlinkat(parent_.descriptor(), temporary_path_.filename().c_str(), 0);
}

File AtomicFile::open() const {
  const int descriptor = ::fcntl(file_.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) throw system_error(errno, "open", temporary_path_.string());
  return File::adopt(descriptor, temporary_path_);
}

/// Syncs the temporary file. Fails if the file no longer has its name.
void AtomicFile::sync() {
  struct stat made {
  }, named{};
  if (::fstat(file_.descriptor(), &made) != 0 ||
      ::fstatat(parent_.descriptor(), temporary_path_.filename().c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0)
    throw system_error(errno, "sync", temporary_path_.string());
  if (made.st_dev != named.st_dev || made.st_ino != named.st_ino)
    throw environment_error("{} was replaced while it was being written", temporary_path_.string());
  file_.sync();
  file_.close();
}

void AtomicFile::commit(bool overwrite) {
  if (!overwrite) {
    if (!commit_new()) throw exists_error(final_path_);
    return;
  }
  sync();
  if (rename_plainly(parent_, temporary_path_.filename(), final_path_.filename()) != 0)
    throw system_error(errno, "create", final_path_.string());
  committed_ = true;
  sync_directory(parent_of(final_path_));
}

bool AtomicFile::commit_new() {
  if (name_taken(parent_, final_path_.filename())) return false;
  sync();
  if (!publish_file(parent_, temporary_path_.filename(), final_path_)) return false;
  committed_ = true;
  sync_directory(parent_of(final_path_));
  return true;
}

}  // namespace dt
