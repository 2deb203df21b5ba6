#include "base/io/permissions.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <list>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/open_at.hpp"

namespace dt {

namespace {

/// Receives a name on the way to a path, its status (a link's own), and the status of its folder.
using Visit = std::function<void(const fs::path& name, const struct stat& status, const struct stat& folder)>;

/// Calls `visit` for each name that leads from `walked` to the path, through links. Ends if nothing
/// has the name, or it may not be looked at.
void walk_from(fs::path walked, const fs::path& path, const Visit& visit) {
  constexpr int max_links = 40;
  std::list<fs::path> left(path.begin(), path.end());
  for (int num_links = 0; !left.empty() && num_links <= max_links;) {
    const fs::path name = left.front();
    left.pop_front();
    if (name.empty() || name == "." || name == "/") continue;
    if (name == "..") {  // `walked` has no links
      walked = walked.is_absolute() ? walked.parent_path() : walked / "..";
      continue;
    }
    const fs::path full = walked == "." ? name : walked / name;
    struct stat status {
    }, folder{};
    if (::stat(walked.c_str(), &folder) != 0 || ::lstat(full.c_str(), &status) != 0) return;
    visit(full, status, folder);
    if (S_ISLNK(status.st_mode)) {
      std::error_code error;
      const fs::path target = fs::read_symlink(full, error);
      if (error) return;
      left.insert(left.begin(), target.begin(), target.end());
      if (target.is_absolute()) walked = "/";
      ++num_links;
    } else {
      walked = full;
    }
  }
}

/// Walks the path from the root. Walks a relative path from the working directory, too: the user
/// may lack access to the folders above it.
void walk(const fs::path& path, const Visit& visit) {
  if (path.is_absolute()) return walk_from("/", path, visit);
  std::error_code error;
  const fs::path current = fs::current_path(error);
  if (!error) walk_from("/", current, visit);
  walk_from(".", path, visit);
}

void refuse_strangers(const fs::path& name, const struct stat& status, const struct stat& folder) {
  const bool is_strangers = status.st_uid != ::geteuid() && status.st_uid != 0;
  if (!is_strangers || (folder.st_mode & S_IWOTH) == 0) return;
  if (S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode)) throw not_owned_error(name, status, "a folder");
}

void refuse_open_storage(const fs::path& folder) {
  refuse_foreign(folder);
  walk(folder, [](const fs::path& name, const struct stat& status, const struct stat& parent) {
    refuse_strangers(name, status, parent);
    if (!S_ISDIR(status.st_mode) || (status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0)
      return;
    throw Error(ErrorKind::environment,
                fmt::format("{} lets everybody rename and replace what is in it (mode {:04o})", name.string(),
                            status.st_mode & 07777U),
                fmt::format("set its sticky bit (chmod +t {}), or use another folder", name.string()));
  });
}

}  // namespace

void refuse_untrusted_path(const fs::path& path) {
  refuse_foreign(path);
  walk(path, refuse_strangers);
}

void make_private_storage(const fs::path& folder) {
  refuse_open_storage(folder);
  create_folders(folder);
  refuse_open_storage(folder);
}

namespace {

/// Returns whether the file has an access list. The group's mode bits are then only an upper bound
/// for all its entries.
bool has_access_list(const fs::path& path) {
  return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

}  // namespace

ReadAccess ReadAccess::of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw system_error(errno, "look at", path.string());
  return of(path, status);
}

ReadAccess ReadAccess::of(const fs::path& path, const struct stat& status) {
  ReadAccess audience;
  const bool is_folder = S_ISDIR(status.st_mode);
  if (!is_folder && !S_ISREG(status.st_mode)) return audience;
  const bool group = (status.st_mode & (is_folder ? S_IXGRP : S_IRGRP)) != 0;
  const bool others = (status.st_mode & (is_folder ? S_IXOTH : S_IROTH)) != 0;
  audience.is_everybody_ =
      group && others;  // without the group's bit, the mode may exclude the group's members only
  if (group && !others && !has_access_list(path)) audience.group_ = status.st_gid;
  return audience;
}

ReadAccess ReadAccess::of_file(const fs::path& path) {
  ReadAccess audience = of(path);
  return audience &= of(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

ReadAccess& ReadAccess::operator&=(const ReadAccess& other) {
  if (other.is_everybody_) return *this;
  if (is_everybody_) {
    *this = other;
  } else if (group_ != other.group_) {
    group_.reset();
  }
  return *this;
}

mode_t ReadAccess::restricted_mode(mode_t mode, gid_t group) const {
  if (is_everybody_) return mode;
  return mode & ~(group_ == group ? mode_t{S_IRWXO} : mode_t{S_IRWXO | S_IRWXG});
}

void restrict_readers(const fs::path& path, const ReadAccess& audience) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw system_error(errno, "open", path.string());
  struct stat status {};
  int error_number = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  const mode_t mode = audience.restricted_mode(status.st_mode & 07777U, status.st_gid);
  if (error_number == 0 && mode != (status.st_mode & 07777U) && ::fchmod(descriptor, mode) != 0)
    error_number = errno;
  ::close(descriptor);
  if (error_number != 0) throw system_error(error_number, "limit the readers of", path.string());
}

}  // namespace dt
