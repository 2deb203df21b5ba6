#include "kernels/arithmetic.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/system/host.hpp"
#include "kernels/cpu/gemm/gemm.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/linear.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

namespace {

/// Returns the seconds of the fastest n × n product among those that begin within `seconds`. Runs
/// at least two.
double fastest_product_s(const Context& context, DType dtype, std::int64_t n, double seconds) {
  const Buffer memory(context.device(), static_cast<std::size_t>(3 * n * n) * dtype_bytes(dtype));
  const auto matrix = [&](std::int64_t i) {
    return Tensor(memory, dtype, {3, n * n}).rows(i, i + 1).reshaped({n, n});
  };
  double fastest_s = std::numeric_limits<double>::infinity();
  const double end_s = monotonic_s() + seconds;
  for (int number = 0; number < 2 || monotonic_s() < end_s; ++number) {
    const double before_s = monotonic_s();
    linear(context, matrix(0), matrix(1), {}, {}, matrix(2));
    context.synchronize();
    fastest_s = std::min(fastest_s, monotonic_s() - before_s);
  }
  return fastest_s;
}

}  // namespace

bool cpu_has(Arithmetic arithmetic) {
  return cpu::cpu_has(arithmetic);
}

std::string arithmetic_unavailable_reason(Arithmetic arithmetic) {
  return cpu::arithmetic_unavailable_reason(arithmetic);
}

std::string matmul_library() {
  return gpu_kernels().matmul_library();
}

std::vector<std::string> matmul_algorithms() {
  return gpu_kernels().matmul_algorithms();
}

double measure_matmul_rate(const Context& context, Arithmetic arithmetic, double seconds) {
  return cpu::measure_matmul_rate(context, arithmetic, seconds);
}

double measure_gpu_matmul_rate(const Context& context, DType dtype, double seconds) {
  constexpr std::int64_t largest = 4096;
  constexpr double long_enough_s = 1e-3;  // long compared with a launch
  std::int64_t n = 256;
  while (n < largest && fastest_product_s(context, dtype, n, 0) < long_enough_s) n *= 2;
  return 2.0 * static_cast<double>(n * n * n) / fastest_product_s(context, dtype, n, seconds);
}

}  // namespace dt::kernels
