// The C library's calls that change or read files, or start threads, each under its own name.

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <pthread.h>
#include <stdio.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injector.hpp"

namespace {

using faults::intercept;
using faults::Operation;
using faults::watched;
using faults::watches;

int result(long value) {
  return static_cast<int>(value);
}

bool exists(int folder, const char* path) {
  struct stat status {};
  const int error_number = errno;
  const bool found = ::syscall(SYS_newfstatat, folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
  errno = error_number;
  return found;
}

std::uint64_t size_of(int descriptor) {
  struct stat status {};
  ::syscall(SYS_fstat, descriptor, &status);
  return static_cast<std::uint64_t>(status.st_size);
}

/// Returns the position at which a write without an offset begins.
std::uint64_t position(int descriptor) {
  const bool appends = (::syscall(SYS_fcntl, descriptor, F_GETFL) & O_APPEND) != 0;
  return appends ? size_of(descriptor)
                 : static_cast<std::uint64_t>(::syscall(SYS_lseek, descriptor, 0, SEEK_CUR));
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  const auto perform = [&](std::size_t) { return ::syscall(SYS_openat, folder, path, flags, mode); };
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  if (!changes && !watches("open")) return result(perform(0));
  const std::string name = watched(folder, path);
  if (name.empty()) return result(perform(0));
  if (changes && !exists(folder, path)) return result(intercept({.kind = "create", .path = name}, perform));
  if (changes && (flags & O_TRUNC) != 0)
    return result(intercept({.kind = "truncate", .path = name}, perform));
  return result(watches("open") ? intercept({.kind = "open", .path = name}, perform) : perform(0));
}

/// Returns the library's own function of a name that leads here.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// Performs the operation through intercept() if its kind and path are watched.
long look_at(const char* kind, int folder, const char* path,
             const std::function<long(std::size_t)>& perform) {
  const std::string name = watches(kind) ? watched(folder, path) : "";
  return name.empty() ? perform(0) : intercept({.kind = kind, .path = name}, perform);
}

long read_from(int descriptor, const std::function<long(std::size_t)>& perform) {
  const std::string name = watches("read") ? watched(descriptor) : "";
  return name.empty() ? perform(0) : intercept({.kind = "read", .path = name}, perform);
}

/// Returns the pointer that `open` answers if the operation is done.
template <class Result>
Result* opened(const char* kind, const char* path, const std::function<Result*()>& open) {
  Result* answer = nullptr;
  look_at(kind, AT_FDCWD, path, [&](std::size_t) {
    answer = open();
    return answer == nullptr ? -1L : 0L;
  });
  return answer;
}

int status_of(int folder, const char* path, struct stat* status, int flags) {
  return result(look_at("look", folder, path,
                        [&](std::size_t) { return ::syscall(SYS_newfstatat, folder, path, status, flags); }));
}

int sync_file(int descriptor, long call) {
  const auto perform = [&](std::size_t) { return ::syscall(call, descriptor); };
  const std::string name = watched(descriptor);
  return result(name.empty() ? perform(0) : intercept({.kind = "sync", .path = name}, perform));
}

int rename_file(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const auto perform = [&](std::size_t) {
    return ::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
  };
  const std::string name = watched(from_folder, from);
  if (name.empty()) return result(perform(0));
  if (flags != 0 && std::getenv("FAULTS_OLD_RENAMES") != nullptr) {
    errno = EINVAL;
    return -1;
  }
  return result(
      intercept({.kind = "rename", .path = name, .to = watched(to_folder, to), .offset = flags}, perform));
}

int link_file(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  const auto perform = [&](std::size_t) {
    return ::syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
  };
  const std::string name = watched(from_folder, from);
  if (name.empty()) return result(perform(0));
  return result(intercept({.kind = "link", .path = name, .to = watched(to_folder, to)}, perform));
}

int unlink_file(int folder, const char* path, int flags) {
  const auto perform = [&](std::size_t) { return ::syscall(SYS_unlinkat, folder, path, flags); };
  const std::string name = watched(folder, path);
  return result(name.empty() ? perform(0) : intercept({.kind = "unlink", .path = name}, perform));
}

int make_folder(int folder, const char* path, mode_t mode) {
  const auto perform = [&](std::size_t) { return ::syscall(SYS_mkdirat, folder, path, mode); };
  const std::string name = watched(folder, path);
  return result(name.empty() ? perform(0) : intercept({.kind = "mkdir", .path = name}, perform));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t bytes) {
  const auto perform = [&](std::size_t count) { return ::syscall(SYS_write, descriptor, data, count); };
  const std::string name = watched(descriptor);
  if (name.empty()) return perform(bytes);
  return intercept(
      {.kind = "write", .path = name, .offset = position(descriptor), .data = data, .bytes = bytes}, perform);
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  const auto perform = [&](std::size_t count) {
    return ::syscall(SYS_pwrite64, descriptor, data, count, offset);
  };
  const std::string name = watched(descriptor);
  if (name.empty()) return perform(bytes);
  const auto at = static_cast<std::uint64_t>(offset);
  return intercept({.kind = "write", .path = name, .offset = at, .data = data, .bytes = bytes}, perform);
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  return pwrite(descriptor, data, bytes, offset);
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  if (watched(descriptor).empty()) return ::syscall(SYS_writev, descriptor, parts, count);
  std::string whole;
  for (int i = 0; i < count; ++i) whole.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return write(descriptor, whole.data(), whole.size());
}

int fsync(int descriptor) {
  return sync_file(descriptor, SYS_fsync);
}
int fdatasync(int descriptor) {
  return sync_file(descriptor, SYS_fdatasync);
}
/// Starts writing; promises nothing, so the log's reader must not take it for a sync.
int sync_file_range(int descriptor, off64_t offset, off64_t bytes, unsigned flags) {
  return result(::syscall(SYS_sync_file_range, descriptor, offset, bytes, flags));
}

int close(int descriptor) {
  const auto perform = [&](std::size_t) { return ::syscall(SYS_close, descriptor); };
  const std::string name = watched(descriptor);
  if (name.empty()) return result(perform(0));
  const bool was_written = (::syscall(SYS_fcntl, descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
  return result(was_written ? intercept({.kind = "close", .path = name}, perform) : perform(0));
}

int ftruncate(int descriptor, off_t bytes) noexcept {
  const auto perform = [&](std::size_t) { return ::syscall(SYS_ftruncate, descriptor, bytes); };
  const std::string name = watched(descriptor);
  if (name.empty()) return result(perform(0));
  return result(
      intercept({.kind = "truncate", .path = name, .offset = static_cast<std::uint64_t>(bytes)}, perform));
}
int ftruncate64(int descriptor, off64_t bytes) noexcept {
  return ftruncate(descriptor, bytes);
}
int truncate(const char* path, off_t bytes) noexcept {
  const auto perform = [&](std::size_t) { return ::syscall(SYS_truncate, path, bytes); };
  const std::string name = watched(AT_FDCWD, path);
  if (name.empty()) return result(perform(0));
  return result(
      intercept({.kind = "truncate", .path = name, .offset = static_cast<std::uint64_t>(bytes)}, perform));
}
int truncate64(const char* path, off64_t bytes) noexcept {
  return truncate(path, bytes);
}

int rename(const char* from, const char* to) noexcept {
  return rename_file(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_file(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return rename_file(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) noexcept {
  return link_file(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return link_file(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  return unlink_file(AT_FDCWD, path, 0);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlink_file(folder, path, flags);
}
int rmdir(const char* path) noexcept {
  return unlink_file(AT_FDCWD, path, AT_REMOVEDIR);
}
int remove(const char* path) noexcept {
  struct stat status {};
  const bool is_folder =
      ::syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
  return unlink_file(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return make_folder(AT_FDCWD, path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return make_folder(folder, path, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(folder, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  return opened<FILE>("open", path, [&] { return next<decltype(fopen)>("fopen")(path, mode); });
}
FILE* fopen64(const char* path, const char* mode) {
  return opened<FILE>("open", path, [&] { return next<decltype(fopen)>("fopen64")(path, mode); });
}
DIR* opendir(const char* path) {
  return opened<DIR>("list", path, [&] { return next<decltype(opendir)>("opendir")(path); });
}

ssize_t read(int descriptor, void* data, size_t bytes) {
  return read_from(descriptor, [&](std::size_t) { return ::syscall(SYS_read, descriptor, data, bytes); });
}
ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  return read_from(descriptor,
                   [&](std::size_t) { return ::syscall(SYS_pread64, descriptor, data, bytes, offset); });
}
ssize_t pread64(int descriptor, void* data, size_t bytes, off64_t offset) {
  return pread(descriptor, data, bytes, offset);
}
ssize_t readv(int descriptor, const struct iovec* parts, int count) {
  return read_from(descriptor, [&](std::size_t) { return ::syscall(SYS_readv, descriptor, parts, count); });
}

void* mmap(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset) noexcept {
  const auto perform = [&](std::size_t) {
    return ::syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset);
  };
  const std::string name = descriptor >= 0 && watches("map") ? watched(descriptor) : "";
  return reinterpret_cast<void*>(name.empty() ? perform(0)
                                              : intercept({.kind = "map", .path = name}, perform));
}
void* mmap64(void* address, size_t bytes, int protection, int flags, int descriptor,
             off64_t offset) noexcept {
  return mmap(address, bytes, protection, flags, descriptor, offset);
}

int stat(const char* path, struct stat* status) noexcept {
  return status_of(AT_FDCWD, path, status, 0);
}
int stat64(const char* path, struct stat64* status) noexcept {
  return status_of(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), 0);
}
int lstat(const char* path, struct stat* status) noexcept {
  return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int lstat64(const char* path, struct stat64* status) noexcept {
  return status_of(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), AT_SYMLINK_NOFOLLOW);
}
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return status_of(folder, path, status, flags);
}
int access(const char* path, int mode) noexcept {
  return result(look_at("look", AT_FDCWD, path,
                        [&](std::size_t) { return ::syscall(SYS_faccessat, AT_FDCWD, path, mode); }));
}

/// Returns the number of this process's threads.
long num_threads() {
  char text[4096];
  const long file = ::syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
  const long bytes = file < 0 ? 0 : ::syscall(SYS_read, file, text, sizeof text);
  ::syscall(SYS_close, file);
  const std::string_view status(text, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  const std::size_t at = status.find("Threads:");
  return at == status.npos ? 0 : std::atol(status.data() + at + std::string_view("Threads:").size());
}

/// Returns its error's number, and leaves errno.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static auto* const create = next<decltype(pthread_create)>("pthread_create");
  const char* const most = std::getenv("FAULTS_MAX_THREADS");
  if (!watches("thread") || (most != nullptr && num_threads() < std::atol(most)))
    return create(thread, attributes, run, argument);
  int error = EAGAIN;
  intercept({.kind = "thread", .path = "."}, [&](std::size_t) {
    error = create(thread, attributes, run, argument);
    return error == 0 ? 0L : -1L;
  });
  return error;
}

int creat(const char* path, mode_t mode) {
  return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char* path, mode_t mode) {
  return creat(path, mode);
}

}  // extern "C"
