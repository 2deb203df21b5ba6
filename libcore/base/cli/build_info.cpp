#include "base/cli/build_info.hpp"

#include <cstddef>
#include <fmt/core.h>
#include <span>
#include <vector>

#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"

namespace dt {

std::string dt_version() {
  return DT_VERSION;
}

std::string build_description() {
#if defined(__clang__)
  return fmt::format("dt {}, clang {}.{}.{}", DT_VERSION, __clang_major__, __clang_minor__,
                     __clang_patchlevel__);
#else
  return fmt::format("dt {}, gcc {}.{}.{}", DT_VERSION, __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::uint64_t executable_digest() {
  static const std::uint64_t value = [] {
    File file = File::open_read("/proc/self/exe");
    std::vector<std::byte> block(std::size_t{1} << 18);
    Digester digester;
    while (const std::size_t count = file.read(block)) digester.update(std::span(block).first(count));
    return digester.value();
  }();
  return value;
}

std::string instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return "avx512_bf16";
  if (__builtin_cpu_supports("avx512f")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "generic";
#endif
}

}  // namespace dt
