#include "base/cli/build_info.hpp"

#include <cstddef>
#include <fmt/core.h>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string_view>
#include <sys/utsname.h>
#include <utility>
#include <vector>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

/// Returns what follows a key and a separator in a system's file, or "".
std::string value_in_file(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find(separator);
    if (end == std::string::npos || trim(std::string_view(line).substr(0, end)) != key) continue;
    std::string value(trim(std::string_view(line).substr(end + 1)));
    std::erase(value, '"');
    return value;
  }
  return "";
}

std::string processor_name() {
  return value_in_file("/proc/cpuinfo", "model name", ':');
}

std::string distribution_name() {
  return value_in_file("/etc/os-release", "PRETTY_NAME", '=');
}

std::string libc_version() {
#if defined(__GLIBC__)
  return fmt::format("glibc {}", ::gnu_get_libc_version());
#else
  return "not glibc";
#endif
}

}  // namespace

std::string dt_version() {
  return DT_VERSION;
}

std::string build_description() {
  return fmt::format("dt {}, {}", DT_VERSION, compiler());
}

std::string build_report() {
  utsname kernel{};
  ::uname(&kernel);
  const auto known = [](std::string text) { return text.empty() ? "unknown" : text; };
  std::string report;
  for (const auto& [name, value] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"source revision", known(DT_REVISION)},
           {"build", fmt::format("{}, {}", known(DT_BUILD_TYPE), compiler())},
           {"MPI", known(DT_MPI)},
           {"HDF5", known(DT_HDF5)},
           {"CUDA", known(DT_CUDA_VERSION)},
           {"NCCL", known(DT_NCCL_VERSION)},
           {"cuDNN", known(DT_CUDNN_VERSION)},
           {"processor", fmt::format("{}, {}", known(processor_name()), instruction_set())},
           {"system", fmt::format("{} {} {}, {}", kernel.sysname, kernel.release, kernel.machine,
                                  known(distribution_name()))},
           {"C library", libc_version()}})
    report += fmt::format("  {:17}{}\n", fmt::format("{}:", name), value);
  return report;
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
