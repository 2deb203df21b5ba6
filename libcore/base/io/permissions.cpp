#include "base/io/permissions.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <grp.h>
#include <list>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"

namespace dt {

namespace {

constexpr std::size_t entry_bytes = 16384;  // for a user's or a group's entry

/// Returns the user's name, or "" if it is unknown.
std::string user_name(uid_t user) {
  std::vector<char> buffer(entry_bytes);
  struct passwd entry {};
  struct passwd* found = nullptr;
  const bool is_known =
      ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return is_known ? found->pw_name : "";
}

struct Group {
  std::string name;  // "" if unknown
  std::vector<std::string> members;
};

Group look_up_group(gid_t number) {
  constexpr std::size_t most_bytes = std::size_t{1} << 24;  // thousands of members need more than one entry
  for (std::size_t bytes = entry_bytes; bytes <= most_bytes; bytes *= 4) {
    std::vector<char> buffer(bytes);
    struct group entry {};
    struct group* found = nullptr;
    const int error_number = ::getgrgid_r(number, &entry, buffer.data(), buffer.size(), &found);
    if (error_number == ERANGE) continue;
    if (error_number != 0 || found == nullptr) break;
    Group group{found->gr_name, {}};
    for (char** member = found->gr_mem; *member != nullptr; ++member) group.members.emplace_back(*member);
    return group;
  }
  return {};
}

/// Returns whether the group contains the user only. Many systems give each user a group of the
/// same name. In containers, neither may have a name.
bool is_group_of_one(gid_t number) {
  const std::string user = user_name(::geteuid());
  const Group group = look_up_group(number);
  if (group.name.empty()) return user.empty() && number == ::getegid();
  return group.name == user &&
         std::ranges::all_of(group.members, [&](const std::string& member) { return member == user; });
}

std::string describe_group(gid_t group) {
  const std::string name = look_up_group(group).name;
  return name.empty() ? fmt::format("group {}", group) : fmt::format("group '{}'", name);
}

std::string describe_kind(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISREG(mode)) return "a file";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

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
                fmt::format("{} lets every user rename and replace its entries (mode {:04o})", name.string(),
                            status.st_mode & 07777U),
                fmt::format("set its sticky bit (chmod +t {}), or use another folder", name.string()));
  });
}

/// Returns whether the file has an access list. The group's mode bits are then only an upper bound
/// for all its entries.
bool has_access_list(const fs::path& path) {
  return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

}  // namespace

std::string describe_user(uid_t user) {
  const std::string name = user_name(user);
  return name.empty() ? fmt::format("uid {}", user) : fmt::format("user {} (uid {})", name, user);
}

std::string describe_other_writers(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) throw system_error(errno, "stat", folder.string());
  std::vector<std::string> writers;
  if (status.st_uid != ::geteuid()) writers.push_back("its owner, " + describe_user(status.st_uid));
  if ((status.st_mode & S_IWOTH) != 0) {
    writers.emplace_back("everybody");
  } else if ((status.st_mode & S_IWGRP) != 0 && !is_group_of_one(status.st_gid)) {
    writers.push_back("members of " + describe_group(status.st_gid));
  }
  return fmt::format("{}", fmt::join(writers, " and "));
}

bool is_writable_by_strangers(const struct stat& folder) {
  return (folder.st_mode & (S_IWOTH | S_ISVTX)) != 0;
}

bool is_owned_by_stranger(uid_t owner, const struct stat& folder) {
  return is_writable_by_strangers(folder) && owner != ::geteuid() && owner != 0 && owner != folder.st_uid;
}

Error not_owned_error(const fs::path& shown, const struct stat& found, const std::string& expected) {
  const std::string names = S_ISREG(found.st_mode) && found.st_nlink > 1
                                ? fmt::format(" with {} names (hard links)", found.st_nlink)
                                : "";
  return Error(
      ErrorKind::environment,
      fmt::format("{} is {}{} owned by {}; expected {} that you own", shown.string(),
                  describe_kind(found.st_mode), names, describe_user(found.st_uid), expected),
      names.empty()
          ? "another user may have created it: delete it, have its owner delete it, or use another folder"
          : "copies made by `cp -al` share their files: replace it with a separate copy (cp FILE NEW; mv NEW "
            "FILE)");
}

void refuse_foreign(const fs::path& given) {
  const fs::path path = without_trailing_slash(given);
  struct stat status {
  }, folder{};
  if (::lstat(path.c_str(), &status) != 0) return;
  const auto is_known = [&](uid_t user) { return user == ::geteuid() || user == 0; };
  const fs::path parent = parent_of(path);
  if (S_ISLNK(status.st_mode)) {
    if (!is_known(status.st_uid) && (::stat(parent.c_str(), &folder) != 0 || folder.st_uid != status.st_uid))
      throw not_owned_error(path, status, "an entry");
    if (::stat(path.c_str(), &status) != 0) return;
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !is_known(status.st_uid))
    throw not_owned_error(path, status, "a file");
}

void refuse_untrusted_path(const fs::path& path) {
  refuse_foreign(path);
  walk(path, refuse_strangers);
}

void make_private_storage(const fs::path& folder) {
  refuse_open_storage(folder);
  create_folders(folder);
  refuse_open_storage(folder);
}

ReadAccess ReadAccess::of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw system_error(errno, "stat", path.string());
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
  return audience &= of(parent_of(path));
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
  if (error_number != 0) throw system_error(error_number, "restrict read access to", path.string());
}

}  // namespace dt
