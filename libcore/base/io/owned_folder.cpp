#include "base/io/owned_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace dt {

namespace {

File open_parent_of(const fs::path& path, const char* action) {
  return File::adopt(open_parent(path, action), path);
}

File folder_of(int descriptor, const fs::path& path) {
  if (descriptor < 0) throw system_error(ENOENT, "open", path.string());
  return File::adopt(descriptor, path);
}

}  // namespace

OwnedFolder OwnedFolder::open(const fs::path& path) {
  auto found = open_if_exists(path);
  if (!found) throw system_error(ENOENT, "open", path.string());
  return std::move(*found);
}

std::optional<OwnedFolder> OwnedFolder::open_if_exists(const fs::path& given) {
  const fs::path path = without_trailing_slash(given);
  if (path.has_parent_path() && !path_exists(path.parent_path())) return std::nullopt;
  const File parent = open_parent_of(path, "open");
  const int found = open_folder_at(parent.descriptor(), path.filename(), path, CreateMode::never, 0777);
  if (found < 0) return std::nullopt;
  return OwnedFolder(File::adopt(found, path));
}

OwnedFolder OwnedFolder::open_or_create(const fs::path& given, mode_t most) {
  const fs::path path = without_trailing_slash(given);
  create_folders(parent_of(path));
  const File parent = open_parent_of(path, "create");
  OwnedFolder taken(folder_of(
      open_folder_at(parent.descriptor(), path.filename(), path, CreateMode::if_missing, most), path));
  sync_directory(parent_of(path));  // the folder may be new
  return taken;
}

std::optional<OwnedFolder> OwnedFolder::create_new(const fs::path& given, mode_t most) {
  const fs::path path = without_trailing_slash(given);
  const File parent = open_parent_of(path, "create");
  const int made = open_folder_at(parent.descriptor(), path.filename(), path, CreateMode::exclusive, most);
  if (made < 0) return std::nullopt;
  return OwnedFolder(File::adopt(made, path));
}

bool OwnedFolder::is_in_place() const {
  struct stat held {
  }, named{};
  if (::fstat(descriptor(), &held) != 0) throw system_error(errno, "stat", path().string());
  if (::lstat(path().c_str(), &named) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw system_error(errno, "stat", path().string());
  }
  return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

OwnedFolder OwnedFolder::open_folder(const std::string& name) const {
  return OwnedFolder(
      folder_of(open_folder_at(descriptor(), name, path() / name, CreateMode::never, 0777), path() / name));
}

OwnedFolder OwnedFolder::open_or_create_folder(const std::string& name, mode_t most) const {
  OwnedFolder taken(folder_of(open_folder_at(descriptor(), name, path() / name, CreateMode::if_missing, most),
                              path() / name));
  sync();
  return taken;
}

File OwnedFolder::create(const std::string& name, mode_t mode) const {
  return File::adopt(create_file_at(descriptor(), name, path() / name, mode), path() / name);
}

File OwnedFolder::open_read(const std::string& name) const {
  return File::adopt(open_file_at(descriptor(), name, path() / name, O_RDONLY, Owner::self), path() / name);
}

File OwnedFolder::open_append(const std::string& name) const {
  return File::adopt(
      open_file_at(descriptor(), name, path() / name, O_WRONLY | O_CREAT | O_APPEND, Owner::self),
      path() / name);
}

bool OwnedFolder::has(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  throw system_error(errno, "stat", (path() / name).string());
}

std::vector<std::string> OwnedFolder::names() const {
  return entries_in(descriptor(), path());
}

void OwnedFolder::rename(const std::string& from, const std::string& to) const {
  if (::renameat(descriptor(), from.c_str(), descriptor(), to.c_str()) != 0)
    throw system_error(errno, "create", (path() / to).string());
}

void OwnedFolder::remove(const std::string& name) const {
  if (::unlinkat(descriptor(), name.c_str(), 0) != 0 && errno != ENOENT)
    throw system_error(errno, "remove", (path() / name).string());
}

std::string OwnedFolder::remove_tree(const std::string& name, const NamePredicate& is_ours) const {
  struct stat status {};
  if (::fstat(descriptor(), &status) != 0) return fmt::format("{}: it cannot be inspected", path().string());
  return remove_at(descriptor(), name, path() / name, status.st_uid, is_ours);
}

void OwnedFolder::sync() const {
  sync_descriptor(descriptor(), path());
}

}  // namespace dt
