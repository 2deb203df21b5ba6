#include "base/io/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/core.h>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/open_at.hpp"
#include "base/io/permissions.hpp"
#include "base/system/host.hpp"

namespace dt {

namespace {

/// Returns the path's status, or none if nothing has the name.
std::optional<struct stat> status_at(const fs::path& path) {
  struct stat status {};
  if (repeated([&] { return ::stat(path.c_str(), &status); }) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return std::nullopt;
  throw system_error(errno, "stat", path.string());
}

/// Opens a folder so that its cached entries are renewed. A network file system caches for a while
/// that a name is missing. On opening a folder it asks the server ("close to open consistency"),
/// and drops cached entries if the folder has changed.
void refresh(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator opened(folder, ignored);
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool path_exists(const fs::path& path) {
  return status_at(path).has_value();
}

bool folder_exists(const fs::path& path) {
  const auto status = status_at(path);
  return status && S_ISDIR(status->st_mode);
}

bool file_exists(const fs::path& path) {
  const auto status = status_at(path);
  return status && S_ISREG(status->st_mode);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw system_error(error.value(), "list", folder.string());
  return paths;
}

void require_parent_folder(const fs::path& file) {
  const fs::path parent = parent_of(file);
  if (!path_exists(parent)) throw system_error(ENOENT, "create", file.string());
  if (!folder_exists(parent)) throw system_error(ENOTDIR, "create", file.string());
}

void sync_directory(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw system_error(errno, "sync", path.string());
  const File folder = File::adopt(descriptor, path);
  sync_descriptor(descriptor, path);
}

void create_folders(const fs::path& path) {
  std::error_code error;
  refuse_foreign(path);
  if (fs::is_directory(path, error)) return;
  const fs::path parent = parent_of(path);
  if (parent != path && !path.filename().empty()) create_folders(parent);
  if (path.filename().empty()) return;
  if (::mkdir(path.c_str(), 0777) == 0) {
    sync_directory(parent);
  } else if (errno != EEXIST) {
    throw system_error(errno, "create", path.string());
  } else if (!fs::is_directory(path, error)) {
    throw system_error(ENOTDIR, "create", path.string());
  }
}

std::string remove_tree(const fs::path& given) {
  const fs::path path = without_trailing_slash(given);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "";
    return fmt::format("{}: {}", path.string(), std::generic_category().message(errno));
  }
  try {
    const File parent = File::adopt(open_parent(path, "remove"), path);
    return remove_at(parent.descriptor(), path.filename(), path, status.st_uid);
  } catch (const Error& error) {
    return error.message();
  }
}

void wait_until_visible(const fs::path& path, double timeout_s) {
  constexpr double longest_pause_s = 0.25;
  const double end_s = monotonic_s() + timeout_s;
  std::error_code error;
  for (double pause_s = 0.01; !fs::exists(path, error); pause_s = std::min(2 * pause_s, longest_pause_s)) {
    if (monotonic_s() >= end_s) {
      throw Error(ErrorKind::environment,
                  fmt::format("host {} does not see {} after {} s{}", host_name(), path.string(), timeout_s,
                              error ? ": " + error.message() : ""),
                  "all hosts must see the run directory under the same path, on a shared file system");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
    refresh(parent_of(path));
  }
}

}  // namespace dt
