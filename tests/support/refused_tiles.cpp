// A library for LD_PRELOAD: the kernel refuses permission for AMX's tiles, as a kernel may be
// configured to.

#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <sys/syscall.h>

extern "C" long syscall(long number, ...) {
  using Call = long (*)(long, ...);
  static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
#if defined(SYS_arch_prctl)
  constexpr long request_permission = 0x1023;
  if (number == SYS_arch_prctl && arguments[0] == request_permission) {
    errno = EPERM;
    return -1;
  }
#endif
  return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
