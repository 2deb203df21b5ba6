// For LD_PRELOAD: each pwrite first takes a tenth of a second, so that a test can be there while a file is
// written.

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  using Write = ssize_t (*)(int, const void*, size_t, off_t);
  static const auto write = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "pwrite"));
  usleep(100'000);
  return write(descriptor, bytes, count, offset);
}
