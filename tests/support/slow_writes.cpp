// A library for LD_PRELOAD: each pwrite, and each removal of a file in a folder, first waits for a
// tenth of a second. So a test can act while a file is written or a folder is removed.

#include <cstdio>
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  using Write = ssize_t (*)(int, const void*, size_t, off_t);
  static const auto write = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "pwrite"));
  usleep(100'000);
  return write(descriptor, bytes, count, offset);
}

extern "C" int unlinkat(int folder, const char* name, int flags) {
  using Unlink = int (*)(int, const char*, int);
  static const auto unlink = reinterpret_cast<Unlink>(dlsym(RTLD_NEXT, "unlinkat"));
  usleep(100'000);
  return unlink(folder, name, flags);
}

extern "C" int remove(const char* path) noexcept {  // std::filesystem::remove calls it
  using Remove = int (*)(const char*);
  static const auto next = reinterpret_cast<Remove>(dlsym(RTLD_NEXT, "remove"));
  usleep(100'000);
  return next(path);
}
