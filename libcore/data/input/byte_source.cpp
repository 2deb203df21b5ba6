#include "data/input/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace dt::data {

namespace {

constexpr int poll_ms = 200;

}  // namespace

std::size_t read_full(ByteSource& source, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t count = source.read(out.subspan(filled));
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

FileSource::FileSource(const InputFile& input, std::function<void()> check)
    : file_(input.is_stdin ? File() : File::open_nonblocking(input.path)),
      descriptor_(input.is_stdin ? STDIN_FILENO : file_.descriptor()),
      name_(input.name()),
      size_(input.bytes),
      may_wait_(!input.bytes),
      check_(std::move(check)) {
  if (input.begin > 0 && ::lseek(descriptor_, static_cast<off_t>(input.begin), SEEK_SET) < 0)
    throw system_error(errno, "read", name_);
  if (input.end) end_ = *input.end - input.begin;
}

std::size_t FileSource::read(std::span<char> out) {
  if (end_) out = out.first(std::min<std::uint64_t>(out.size(), *end_ - bytes_read_));
  for (;;) {
    if (may_wait_) wait_for_pipe();
    check_();
    const ssize_t count = ::read(descriptor_, out.data(), out.size());
    if (count >= 0) {
      bytes_read_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno != EAGAIN && errno != EINTR) throw system_error(errno, "read", name_);
  }
}

void FileSource::seek(std::uint64_t offset) {
  if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
    throw system_error(errno, "read", name_);
}

void FileSource::wait_for_pipe() const {
  pollfd waiting{descriptor_, POLLIN, 0};
  while (::poll(&waiting, 1, poll_ms) <= 0) check_();
}

PeekedSource::PeekedSource(ByteSource& source) : source_(source), first_(peeked_bytes, '\0') {
  first_.resize(read_full(source, first_));
}

std::string_view PeekedSource::peek_line(std::size_t max_bytes) {
  DT_CHECK(taken_ == 0, "the first bytes were requested after a read");
  const auto has_line = [this] {
    const std::size_t begin =
        first_.find_first_not_of(" \t\r\n\xEF\xBB\xBF");  // skips a byte order mark, too
    return begin != first_.npos && first_.find('\n', begin) != first_.npos;
  };
  while (first_.size() < max_bytes && !has_line()) {
    const std::size_t size = first_.size();
    first_.resize(std::min(std::max(size, peeked_bytes) * 4, max_bytes));
    const std::size_t count = read_full(source_, std::span(first_).subspan(size));
    first_.resize(size + count);
    if (count == 0) break;
  }
  return first_;
}

void PeekedSource::seek(std::uint64_t offset) {
  source_.seek(offset);
  taken_ = first_.size();
}

std::size_t PeekedSource::read(std::span<char> out) {
  if (taken_ == first_.size()) return source_.read(out);
  const std::size_t count = std::min(out.size(), first_.size() - taken_);
  std::copy_n(first_.data() + taken_, count, out.data());
  taken_ += count;
  return count;
}

}  // namespace dt::data
