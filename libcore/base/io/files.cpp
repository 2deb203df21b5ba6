#include "base/io/files.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <span>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/open_at.hpp"
#include "base/io/permissions.hpp"
#include "base/system/signals.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

// The kernel transfers at most 2 GiB a call. Smaller parts also let signals through.
constexpr std::size_t max_part_bytes = std::size_t{1} << 30;

int open_checked(const fs::path& path, int flags, const char* action) {
  const int descriptor = repeated([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (descriptor < 0) throw system_error(errno, action, path.string());
  return descriptor;
}

struct stat status_of(int descriptor, const fs::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error(errno, "inspect", path.string());
  return status;
}

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    case S_IFDIR:
      return "a folder";
    default:
      return "not a regular file";
  }
}

Error not_regular(const fs::path& path, mode_t mode) {
  return Error(ErrorKind::input, fmt::format("{} is {}", path.string(), kind_of(mode)),
               "expected a regular file: check the path and who created it");
}

/// Opens a regular file. Waits neither for the other end of a FIFO nor for a device.
int open_regular(const fs::path& path) {
  const int descriptor =
      repeated([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
  struct stat status {};
  if (const int error = errno; descriptor < 0) {
    // ENXIO means a socket, or a device that is absent.
    if (error == ENXIO && ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      throw not_regular(path, status.st_mode);
    throw system_error(error, "open", path.string());
  }
  const bool is_known = ::fstat(descriptor, &status) == 0;
  if (const int error = errno; !is_known || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    if (!is_known) throw system_error(error, "inspect", path.string());
    if (S_ISDIR(status.st_mode)) throw system_error(EISDIR, "open", path.string());
    throw not_regular(path, status.st_mode);
  }
  ::fcntl(descriptor, F_SETFL, 0);  // later users of the descriptor expect no flags
  return descriptor;
}

constexpr int poll_ms = 100;

bool is_pipe(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
}

/// Reads up to `bytes.size()` bytes. Returns the count, 0 at the end of the file.
std::size_t read_some(const File& pipe, std::span<char> bytes) {
  for (;;) {
    pollfd waiting{pipe.descriptor(), POLLIN, 0};
    while (::poll(&waiting, 1, poll_ms) <= 0) check_stop_requests();
    check_stop_requests();
    const ssize_t count = ::read(pipe.descriptor(), bytes.data(), bytes.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EAGAIN && errno != EINTR) throw system_error(errno, "read", pipe.path().string());
  }
}

}  // namespace

File::File(int descriptor, fs::path path, bool reopens)
    : descriptor_(descriptor), path_(std::move(path)), reopens_(reopens) {}

File File::open_read(const fs::path& path) {
  return File(open_regular(path), path, true);
}

File File::open_nonblocking(const fs::path& path) {
  File file(open_checked(path, O_RDONLY | O_NONBLOCK, "open"), path, true);
  if (S_ISDIR(status_of(file.descriptor_, path).st_mode)) throw system_error(EISDIR, "open", path.string());
  return file;
}

File File::create(const fs::path& path) {
  const File parent = adopt(open_parent(path, "create"), path);
  return adopt(create_file_at(parent.descriptor_, path.filename(), path), path);
}

File File::open_write(const fs::path& path) {
  refuse_foreign(path);
  return adopt(open_checked(path, O_WRONLY, "open for writing"), path);
}

File File::open_append(const fs::path& path) {
  const File parent = adopt(open_parent(path, "open for appending"), path);
  return adopt(
      open_file_at(parent.descriptor_, path.filename(), path, O_WRONLY | O_CREAT | O_APPEND, Owner::anyone),
      path);
}

File::File(File&& other) noexcept
    : descriptor_(other.descriptor_), path_(std::move(other.path_)), reopens_(other.reopens_) {
  other.descriptor_ = -1;
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(reopens_, other.reopens_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t File::size() const {
  return static_cast<std::uint64_t>(status_of(descriptor_, path_).st_size);
}

void File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), max_part_bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error(errno, "write", path_.string());
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void File::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), max_part_bytes),
                                   static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error(errno, "write", path_.string());
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

/// Returns whether to repeat the failed call. After ESTALE the path is opened again, since the
/// server may have put a new file there.
bool File::reopens(int error_number, bool& was_reopened) const {
  if (error_number == EINTR) return true;
  if (error_number != ESTALE || !reopens_ || std::exchange(was_reopened, true)) return false;
  const off_t position = ::lseek(descriptor_, 0, SEEK_CUR);
  const int fresh = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fresh < 0) return false;
  struct stat status {};
  const bool is_in_place = ::fstat(fresh, &status) == 0 && S_ISREG(status.st_mode) &&
                           ::lseek(fresh, position, SEEK_SET) == position &&
                           ::dup3(fresh, descriptor_, O_CLOEXEC) == descriptor_;
  ::close(fresh);
  return is_in_place;
}

std::size_t File::read(std::span<std::byte> bytes) {
  std::size_t total = 0;
  bool was_reopened = false;
  while (total < bytes.size()) {
    const ssize_t count =
        ::read(descriptor_, bytes.data() + total, std::min(bytes.size() - total, max_part_bytes));
    if (const int error = errno; count < 0) {
      if (reopens(error, was_reopened)) continue;
      throw system_error(error, "read", path_.string());
    }
    if (count == 0) break;
    total += static_cast<std::size_t>(count);
  }
  return total;
}

void File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::uint64_t end = offset + bytes.size();
  bool was_reopened = false;
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor_, bytes.data(), std::min(bytes.size(), max_part_bytes),
                                  static_cast<off_t>(offset));
    if (const int error = errno; count < 0) {
      if (reopens(error, was_reopened)) continue;
      throw system_error(error, "read", path_.string());
    }
    if (count == 0) {
      throw Error(ErrorKind::input, fmt::format("{} is truncated", path_.string()),
                  fmt::format("it ends at byte {}, but at least {} bytes are expected", size(), end));
    }
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void File::sync() {
  int result = -1;
  do {
    result = ::fsync(descriptor_);
  } while (result != 0 && errno == EINTR);
  // Pipes and terminals cannot be synced and need no sync.
  if (result != 0 && errno != EINVAL && errno != ENOTSUP) throw system_error(errno, "sync", path_.string());
}

void File::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  // On Linux the descriptor is closed after EINTR. Closing it again could close another thread's
  // file.
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) {
    throw system_error(errno, "close", path_.string());
  }
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  File file = File::open_read(path);
  const auto check = [&](std::uint64_t bytes) {
    if (bytes <= max_bytes) return;
    throw Error(ErrorKind::input, fmt::format("{} is {} or larger", path.string(), format_bytes(bytes)),
                fmt::format("dt reads at most {} of such a file: check that it is the right one",
                            format_bytes(max_bytes)));
  };
  check(file.size());
  std::string content(std::max<std::uint64_t>(file.size(), 1), '\0');
  std::size_t filled = 0;
  // The size is only a hint: /proc reports none, and a file may grow meanwhile.
  for (;;) {
    filled += file.read(std::as_writable_bytes(std::span(content)).subspan(filled));
    check(filled);
    if (filled < content.size()) break;
    content.resize(content.size() + std::max<std::size_t>(content.size() / 2, 4096));
  }
  content.resize(filled);
  return content;
}

std::string read_file_or_pipe(const fs::path& path, std::uint64_t max_bytes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return read_file(path, max_bytes);
  const File pipe = File::open_nonblocking(path);
  if (!is_pipe(pipe.descriptor())) return read_file(path, max_bytes);  // replaced since stat()
  constexpr std::size_t least_room = std::size_t{1} << 16;
  std::string content;
  for (std::size_t filled = 0;;) {
    content.resize(filled + std::max(least_room, filled / 2));
    const std::size_t count = read_some(pipe, std::span(content).subspan(filled));
    filled += count;
    if (filled > max_bytes)
      throw Error(ErrorKind::input,
                  fmt::format("{} provides more than {}", path.string(), format_bytes(max_bytes)),
                  "check that it is the right input");
    if (count > 0) continue;
    content.resize(filled);
    return content;
  }
}

void sync_descriptor(int descriptor, const fs::path& shown) {
  int error_number = 0;
  do {
    error_number = ::fsync(descriptor) == 0 ? 0 : errno;
  } while (error_number == EINTR);
  // Some file systems cannot sync folders: renames on them are durable already, or cannot be made
  // durable.
  if (error_number != 0 && !is_unsupported(error_number))
    throw system_error(error_number, "sync", shown.string());
}

void write_synced(const fs::path& path, std::string_view content) {
  File file = File::create(path);
  file.write(content);
  file.sync();
  file.close();
}

File open_device(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) throw system_error(errno, "open for writing", path.string());
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) throw not_owned_error(path, status, "a file");
  return File::open_write(path);
}

FileLock::Outcome FileLock::try_lock(const fs::path& path, Owner owner) {
  file_ = File();
  const File parent = File::adopt(open_parent(path, "lock"), path);
  return lock(File::adopt(open_lock_at(parent.descriptor(), path.filename(), path, owner), path), LOCK_EX);
}

FileLock::Outcome FileLock::try_lock_shared(const fs::path& path) {
  file_ = File();
  return lock(File::open_read(path), LOCK_SH);
}

FileLock::Outcome FileLock::lock(File file, int operation) {
  int result = -1;
  do {
    result = ::flock(file.descriptor(), operation | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) {
    file_ = std::move(file);
    return Outcome::acquired;
  }
  if (errno == EWOULDBLOCK) return Outcome::busy;
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL)
    return Outcome::unsupported;
  throw system_error(errno, "lock", file.path().string());
}

}  // namespace dt
