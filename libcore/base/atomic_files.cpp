#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <stdio.h>  // renameat2
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/output_file.hpp"

namespace dt {

namespace {

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool name_taken(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// "runs/a/" names what "runs/a" names; a path without a last component names nothing that could be renamed.
fs::path named(fs::path path) {
  if (path.filename().empty()) path = path.parent_path();
  const fs::path name = path.filename();
  if (name.empty() || name == "." || name == ".." || name == "/") {
    throw Error(ErrorKind::input, fmt::format("'{}' is not a name that can be created", path.string()),
                "give the name of a new file or folder");
  }
  return path;
}

/// A device, a pipe or a socket, by its name or through a link: there is nothing whole to keep, and a file in
/// its place would break who else uses it (root may rename over /dev/null).
bool is_special(const fs::path& path) {
  std::error_code unreadable;  // creating meets it again
  const fs::file_status status = fs::status(path, unreadable);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Calls `create` with hidden sibling names of `path` until one is free; `create` returns 0 or sets errno.
fs::path make_temporary(const fs::path& path, const std::string& stem, const std::string& extension,
                        const std::function<int(const char*)>& create) {
  constexpr std::size_t max_stem_bytes = 160;  // leaves room in a name of 255 bytes
  const fs::path parent = parent_of(path);
  make_folders(parent);
  const std::string base =
      fmt::format(".{}.tmp-{}-{}", stem.substr(0, max_stem_bytes), host_name().substr(0, 63), ::getpid());
  for (int i = 0;; ++i) {
    fs::path temporary = parent / (base + (i == 0 ? "" : fmt::format("-{}", i)) + extension);
    if (create(temporary.c_str()) == 0) return temporary;
    if (errno != EEXIST && errno != EINTR) throw system_error(errno, "create", temporary.string());
  }
}

fs::path make_temporary_file(const fs::path& path) {
  const std::string extension = path.extension().string().substr(0, 32);
  return make_temporary(path, path.stem().string(), extension, [](const char* name) {
    const int descriptor = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return -1;
    return ::close(descriptor) != 0 && errno != EINTR ? -1 : 0;
  });
}

void sync_file(const fs::path& path) {
  File file = File::open_read(path);
  file.sync();
  file.close();
}

void sync_tree(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) {
      sync_tree(entry.path());
    } else if (entry.is_regular_file()) {
      sync_file(entry.path());
    }
  }
  sync_directory(folder);
}

Error exists_error(const fs::path& path) {
  return Error(ErrorKind::input, fmt::format("{} exists already", path.string()),
               "choose another name, remove it, or ask to overwrite it");
}

bool is_unsupported(int error_number) {
  return error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP ||
         error_number == EPERM;
}

int rename_flagged(const fs::path& from, const fs::path& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
}

void rename_plainly(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw system_error(errno, "create", to.string());
}

void rename_new_folder(const fs::path& from, const fs::path& to) {
  if (rename_flagged(from, to, RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST || errno == ENOTEMPTY) throw exists_error(to);
  if (!is_unsupported(errno)) throw system_error(errno, "create", to.string());
  // Some network file systems lack the flag. rename(2) still refuses a folder that is not empty.
  if (name_taken(to)) throw exists_error(to);
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  if (errno == EEXIST || errno == ENOTEMPTY) throw exists_error(to);
  throw system_error(errno, "create", to.string());
}

/// A second name for the file, then the first one goes; 0 or an errno.
int link_new(const fs::path& from, const fs::path& to) {
  if (::link(from.c_str(), to.c_str()) != 0) {
    const int error_number = errno;
    // A network file system may repeat a request whose answer was lost: two names mean that the link is ours.
    struct stat status {};
    if (error_number != EEXIST || ::lstat(from.c_str(), &status) != 0 || status.st_nlink != 2)
      return error_number;
  }
  ::unlink(from.c_str());
  return 0;
}

/// Gives the file its new name, or answers false where the name is taken. Local file systems rename without
/// replacing; network ones link. Where neither works, an empty file claims the name first, and a crash may
/// leave that.
bool publish_file(const fs::path& from, const fs::path& to) {
  int error_number = rename_flagged(from, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (is_unsupported(error_number)) error_number = link_new(from, to);
  if (is_unsupported(error_number)) {
    const int claim = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error_number = claim < 0 ? errno : 0;
    if (claim >= 0) {
      ::close(claim);
      if (::rename(from.c_str(), to.c_str()) != 0) {
        error_number = errno;
        ::unlink(to.c_str());
      }
    }
  }
  if (error_number != 0 && error_number != EEXIST) throw system_error(error_number, "create", to.string());
  return error_number == 0;
}

/// Where a folder waits while its name passes to another.
fs::path aside_of(const fs::path& path) {
  return parent_of(path) / ("." + path.filename().string() + replaced_suffix);
}

/// Puts `from` under the name `to`; where `to` existed, its old content is left under the returned path.
fs::path swap_folders(const fs::path& from, const fs::path& to) {
  if (rename_flagged(from, to, RENAME_EXCHANGE) == 0) return from;
  if (errno != ENOENT && !is_unsupported(errno)) throw system_error(errno, "replace", to.string());
  if (!name_taken(to)) {
    rename_new_folder(from, to);
    return {};
  }
  const fs::path aside = aside_of(to);
  std::error_code ignored;         // renaming meets it again
  fs::remove_all(aside, ignored);  // `to` has replaced it long ago
  rename_plainly(to, aside);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int error_number = errno;
    restore_replaced(to);
    throw system_error(error_number, "create", to.string());
  }
  return aside;
}

}  // namespace

void sync_directory(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw system_error(errno, "sync", path.string());
  int error_number = 0;
  do {
    error_number = ::fsync(descriptor) == 0 ? 0 : errno;
  } while (error_number == EINTR);
  ::close(descriptor);
  // Some file systems cannot sync folders: their renames are durable by themselves, or cannot be made so.
  if (error_number != 0 && !is_unsupported(error_number))
    throw system_error(error_number, "sync", path.string());
}

void make_folders(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  const fs::path parent = parent_of(path);
  if (parent != path && !path.filename().empty()) make_folders(parent);
  if (path.filename().empty()) return;
  if (::mkdir(path.c_str(), 0777) == 0) {
    sync_directory(parent);
  } else if (errno != EEXIST) {
    throw system_error(errno, "create", path.string());
  } else if (!fs::is_directory(path, error)) {
    throw system_error(ENOTDIR, "create", path.string());
  }
}

void write_synced(const fs::path& path, std::string_view content) {
  File file = File::create(path);
  file.write(content);
  file.sync();
  file.close();
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  if (is_special(path)) {
    File file = File::open_write(path);
    file.write(content);
    return file.close();
  }
  AtomicFile target(path);
  File file = File::open_write(target.path());
  file.write(content);
  file.close();
  target.commit(true);
}

bool create_file_exclusively(const fs::path& path, std::string_view content) {
  if (name_taken(path)) return false;
  AtomicFile target(path);
  File file = File::open_write(target.path());
  file.write(content);
  file.close();
  return target.commit_new();
}

fs::path partial_path(const fs::path& final_path) {
  const fs::path path = named(final_path);
  return parent_of(path) / ("." + path.filename().string() + partial_suffix);
}

bool restore_replaced(const fs::path& final_path) {
  const fs::path path = named(final_path), aside = aside_of(path);
  if (!name_taken(aside) || name_taken(path)) return false;
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const bool somebody_else_did = errno == ENOENT || errno == EEXIST || errno == ENOTEMPTY;
    if (somebody_else_did) return false;
    throw system_error(errno, "create", path.string());
  }
  sync_directory(parent_of(path));
  return true;
}

AtomicDirectory::AtomicDirectory(fs::path final_path) : final_path_(named(std::move(final_path))) {
  restore_replaced(final_path_);
  temporary_path_ = make_temporary(final_path_, final_path_.filename().string(), "",
                                   [](const char* name) { return ::mkdir(name, 0777); });
}

AtomicDirectory::AtomicDirectory(fs::path final_path, fs::path temporary_path, bool stays)
    : final_path_(std::move(final_path)), temporary_path_(std::move(temporary_path)), stays_(stays) {
  restore_replaced(final_path_);
  make_folders(temporary_path_);
}

AtomicDirectory AtomicDirectory::partial(fs::path final_path) {
  fs::path path = named(std::move(final_path));
  fs::path sibling = partial_path(path);
  return {std::move(path), std::move(sibling), true};
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!committed_ && !stays_) fs::remove_all(temporary_path_, ignored);
}

void AtomicDirectory::commit(bool overwrite) {
  if (!overwrite && name_taken(final_path_)) throw exists_error(final_path_);
  try {
    sync_tree(temporary_path_);
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.code().value(), "sync", error.path1().string());
  }
  fs::path old;
  if (overwrite) {
    old = swap_folders(temporary_path_, final_path_);
  } else {
    rename_new_folder(temporary_path_, final_path_);
  }
  committed_ = true;
  sync_directory(parent_of(final_path_));
  std::error_code ignored;
  if (!old.empty()) fs::remove_all(old, ignored);
}

void require_folder_of(const fs::path& file) {
  const fs::path parent = parent_of(file);
  if (!path_exists(parent)) throw system_error(ENOENT, "create", file.string());
  if (!folder_exists(parent)) throw system_error(ENOTDIR, "create", file.string());
}

AtomicFile::AtomicFile(fs::path final_path) : final_path_(named(std::move(final_path))) {
  if (is_special(final_path_)) {
    throw Error(
        ErrorKind::environment,
        fmt::format("cannot create {}: a device, a pipe or a socket has the name", final_path_.string()),
        "give the name of a file");
  }
  temporary_path_ = make_temporary_file(final_path_);
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_path_.c_str());
}

void AtomicFile::commit(bool overwrite) {
  if (!overwrite) {
    if (!commit_new()) throw exists_error(final_path_);
    return;
  }
  sync_file(temporary_path_);
  rename_plainly(temporary_path_, final_path_);
  committed_ = true;
  sync_directory(parent_of(final_path_));
}

bool AtomicFile::commit_new() {
  if (name_taken(final_path_)) return false;
  sync_file(temporary_path_);
  if (!publish_file(temporary_path_, final_path_)) return false;
  committed_ = true;
  sync_directory(parent_of(final_path_));
  return true;
}

}  // namespace dt
