// A library for LD_PRELOAD that plays a job that prunes. Before the file DT_REMOVE_AT is first
// opened, the library moves its folder away, as a removal begins. Before that, DT_APPEARS, a path
// of the form HIDDEN:FINAL, gets its final name.

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

void prune_before(const char* path) {
  static bool is_done = false;
  const char* at = std::getenv("DT_REMOVE_AT");
  if (is_done || at == nullptr || !std::string(path).ends_with(at)) return;
  is_done = true;
  if (const char* appears = std::getenv("DT_APPEARS")) {
    const std::string both = appears;
    const std::size_t colon = both.find(':');
    fs::rename(both.substr(0, colon), both.substr(colon + 1));
  }
  const fs::path folder = fs::path(path).parent_path();
  fs::rename(folder, folder.parent_path() / ("." + folder.filename().string() + ".removed"));
}

template <class Open>
int pass(const char* name, const char* path, int flags, mode_t mode) {
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, name));
  prune_before(path);
  return next(path, flags, mode);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return pass<int (*)(const char*, int, ...)>("open", path, flags, mode);
}

extern "C" int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return pass<int (*)(const char*, int, ...)>("open64", path, flags, mode);
}
