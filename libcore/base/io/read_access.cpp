#include "base/io/read_access.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.hpp"

namespace dt {

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
