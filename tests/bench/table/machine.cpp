#include "bench/table/machine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <thread>

#include "kernels/arithmetic.hpp"

namespace dt::table {

namespace {

/// Returns the value of the first `key : value`.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(key) && colon != std::string::npos)
      return line.substr(std::min(colon + 2, line.size()));
  }
  return {};
}

bool has_word(const std::string& text, const std::string& wanted) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

double matmul_rate(Arithmetic arithmetic) {
  return kernels::measure_matmul_rate(Context(num_threads(), Device::host()), arithmetic, 0.2);
}

Arithmetic measure_fastest() {
  Arithmetic fastest = Arithmetic::fp32;
  double most = matmul_rate(fastest);
  for (const Arithmetic other : {Arithmetic::bf16, Arithmetic::amx}) {
    if (!kernels::supports_arithmetic(other)) continue;
    const double rate = matmul_rate(other);
    if (rate > most) most = rate, fastest = other;
  }
  return fastest;
}

}  // namespace

Cpu read_cpu() {
  const std::string flags = cpuinfo("flags"), model = cpuinfo("model name");
  return {model.empty() ? "an unknown CPU" : model, has_word(flags, "avx512_bf16"),
          has_word(flags, "amx_bf16")};
}

std::string describe(const Cpu& cpu) {
  return fmt::format("{}, {} threads, {} avx512_bf16, {} amx_bf16", cpu.model, num_threads(),
                     cpu.has_avx512_bf16 ? "has" : "no", cpu.has_amx_bf16 ? "has" : "no");
}

int num_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

FastestContext::FastestContext() : Context(num_threads(), Device::host()) {
  static const Arithmetic fastest = measure_fastest();
  set_arithmetic(fastest);
}

void Pace::sample() {
  const double rate = matmul_rate(Arithmetic::fp32);
  least_ = std::min(least_, rate);
  most_ = std::max(most_, rate);
}

}  // namespace dt::table
