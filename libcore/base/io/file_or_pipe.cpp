#include "base/io/file_or_pipe.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>
#include <poll.h>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/signals.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

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
                  fmt::format("{} brings more than {}", path.string(), format_bytes(max_bytes)),
                  "check that it is the right one");
    if (count > 0) continue;
    content.resize(filled);
    return content;
  }
}

}  // namespace dt
