#include "base/io/mapped_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/printable.hpp"

namespace dt {

/// An entry of a list that only grows, so that a signal handler may read it at any time. Free
/// entries are reused.
class MappedRange {
 public:
  static MappedRange* add(std::span<const std::byte> bytes, const std::string& path);
  static void remove(MappedRange* range) { range->begin_.store(nullptr, std::memory_order_release); }
  /// Returns the path of the file mapped at an address, or nullptr. Safe in a signal handler.
  static const char* path_at(const void* address);

 private:
  static MappedRange* free_one();
  static std::atomic<MappedRange*> first;
  static std::mutex mutex;  // serializes add()

  std::atomic<const std::byte*> begin_ = nullptr;  // nullptr if the entry is free
  std::size_t bytes_ = 0;
  std::string path_;
  MappedRange* next_ = nullptr;
};

std::atomic<MappedRange*> MappedRange::first = nullptr;
std::mutex MappedRange::mutex;

MappedRange* MappedRange::free_one() {
  for (MappedRange* range = first; range != nullptr; range = range->next_) {
    if (range->begin_.load(std::memory_order_acquire) == nullptr) return range;
  }
  auto* range = new MappedRange;
  range->next_ = first;
  first = range;
  return range;
}

MappedRange* MappedRange::add(std::span<const std::byte> bytes, const std::string& path) {
  const std::lock_guard lock(mutex);
  MappedRange* range = free_one();
  range->bytes_ = bytes.size();
  range->path_ = path;
  range->begin_.store(bytes.data(), std::memory_order_release);
  return range;
}

const char* MappedRange::path_at(const void* address) {
  const auto* const byte = static_cast<const std::byte*>(address);
  for (const MappedRange* range = first; range != nullptr; range = range->next_) {
    const std::byte* const begin = range->begin_.load(std::memory_order_acquire);
    if (begin != nullptr && !std::less()(byte, begin) && std::less()(byte, begin + range->bytes_))
      return range->path_.c_str();
  }
  return nullptr;
}

namespace {

struct sigaction previous_action;
std::array<char, 256> host{};  // read by the handler

/// Restores the previous handler. The faulting instruction then raises its signal again.
void pass_on(int signal, const siginfo_t& info) {
  ::sigaction(signal, &previous_action, nullptr);
  if (info.si_code <= 0) ::raise(signal);  // sent by a process, not raised by an instruction
}

/// Handles SIGBUS. Calls only async-signal-safe functions.
void end_for_lost_file(int signal, siginfo_t* info, void*) {
  const char* const path = info->si_code > 0 ? MappedRange::path_at(info->si_addr) : nullptr;
  if (path == nullptr) return pass_on(signal, *info);
  std::array<iovec, 6> line{};
  std::size_t count = 0;
  for (const char* part : {static_cast<const char*>(program_invocation_short_name), ": error: ", path, " on ",
                           static_cast<const char*>(host.data()),
                           ": can no longer be read (SIGBUS): the file was truncated, or its file system is "
                           "gone\n"})
    line[count++] = {const_cast<char*>(part), std::strlen(part)};
  static_cast<void>(!::writev(STDERR_FILENO, line.data(), static_cast<int>(count)));
  ::_exit(static_cast<int>(ErrorKind::environment));
}

void handle_lost_files() {
  static std::once_flag once;
  std::call_once(once, [] {
    host_name().copy(host.data(), host.size() - 1);
    struct sigaction action {};
    action.sa_sigaction = end_for_lost_file;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, &previous_action);
  });
}

std::span<const std::byte> map(const File& file) {
  const std::size_t size = file.size();
  const void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) throw system_error(errno, "map", file.path().string());
  return {static_cast<const std::byte*>(address), size};
}

}  // namespace

MappedFile::MappedFile(const File& file)
    : bytes_(map(file)), range_(MappedRange::add(bytes_, printable_line(file.path().string()))) {
  handle_lost_files();
}

MappedFile::~MappedFile() {
  MappedRange::remove(range_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::will_need(std::span<const std::byte> part) const {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t first = begin / page * page;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, begin - first + part.size(), MADV_WILLNEED);
}

}  // namespace dt
