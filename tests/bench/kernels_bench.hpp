#pragma once
// The sizes and tensors of bench_kernels, and what measures a kernel (see kernels_bench.cpp).

#include <benchmark/benchmark.h>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt_bench {

using namespace dt;

constexpr std::int64_t R = 1024, N = 16 * R, C = 768, F = 3072, V = 50257, H = 12, D = 64,
                       parameters = 1 << 25;

/// Tensors for one benchmark, filled with small values that are not all equal.
class Bench {
 public:
  explicit Bench(DType dtype = DType::f32) : dtype(dtype) {}
  const DType dtype;

  Tensor floats(Shape shape) {
    const Tensor tensor = add(DType::f32, std::move(shape));
    std::uint32_t state = 1;
    for (float& value : tensor.span<float>()) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    }
    return tensor;
  }
  /// Returns the same values as floats(), rounded.
  Tensor values(DType to, Shape shape) {
    const Tensor exact = floats(shape);
    if (to == DType::f32) return exact;
    const Tensor tensor = add(to, std::move(shape));
    kernels::cast(Context(1, Device::host()), exact, tensor);
    return tensor;
  }
  /// Returns values in this benchmark's dtype.
  Tensor elements(Shape shape) {
    const Tensor tensor = values(dtype, std::move(shape));
    return tensor;
  }
  Tensor ids(std::int64_t count, std::int64_t end) {
    const Tensor tensor = add(DType::i32, {count});
    for (std::int64_t i = 0; i < count; ++i)
      tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % end);
    return tensor;
  }
  Tensor doubles(std::int64_t count) { return add(DType::f64, {count}); }
  /// Returns the bytes of `count` elements.
  double bytes(double count) const { return count * static_cast<double>(dtype_bytes(dtype)); }

 private:
  Tensor add(DType dtype, Shape shape) {
    buffers_.emplace_back(Device::host(), static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype));
    return Tensor(buffers_.back(), dtype, std::move(shape));
  }
  std::vector<Buffer> buffers_;
};

/// Runs `kernel` and reports `amount` per second, in 10⁹, as `unit`.
inline void measure(benchmark::State& state, const char* unit, double amount,
                    const std::function<void(const Context&)>& kernel,
                    Arithmetic multiply = Arithmetic::fp32) {
  Context context(static_cast<int>(state.range(0)), Device::host());
  context.set_arithmetic(multiply);
  kernel(context);
  for (auto _ : state) kernel(context);
  state.counters[unit] = benchmark::Counter(amount * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
inline void measure_flops(benchmark::State& state, double flops,
                          const std::function<void(const Context&)>& kernel,
                          Arithmetic multiply = Arithmetic::fp32) {
  measure(state, "GFLOP", flops, kernel, multiply);
}
/// Measures bytes per second. `bytes` counts each byte once for each time that it must be read or written.
inline void measure_bytes(benchmark::State& state, double bytes,
                          const std::function<void(const Context&)>& kernel) {
  measure(state, "GB", bytes, kernel);
}

inline void one_thread_and_all(benchmark::internal::Benchmark* benchmark) {
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  benchmark->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
  if (all > 1) benchmark->Arg(all);
}

/// Adds the benchmarks of attention.
void register_attention();

}  // namespace dt_bench
