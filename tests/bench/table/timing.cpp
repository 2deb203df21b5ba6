#include "bench/table/timing.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "bench/table/machine.hpp"
#include "kernels/elementwise.hpp"

namespace dt::table {

double time_s(const std::function<void()>& body) {
  const auto started = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

double best_s(const std::function<void()>& body, double at_least_s) {
  double best = std::numeric_limits<double>::infinity(), total = 0;
  while (total < at_least_s) {
    const double took = time_s(body);
    best = std::min(best, took);
    total += took;
  }
  return best;
}

Tensor Tensors::floats(DType dtype, Shape shape) {
  const Tensor tensor = empty(dtype, std::move(shape));
  const Context context(num_threads(), Device::host());
  const std::int64_t count = tensor.numel(), piece = std::min(count, std::int64_t{1} << 20);
  Tensors memory;
  const Tensor source = memory.empty(DType::f32, {piece});
  std::uint32_t state = 1;
  for (float& value : source.span<float>()) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t length = std::min(piece, count - begin);
    kernels::cast(context, source.flat(0, length), tensor.flat(begin, length));
  }
  return tensor;
}

Tensor Tensors::empty(DType dtype, Shape shape) {
  buffers_.emplace_back(Device::host(), static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype));
  return Tensor(buffers_.back(), dtype, std::move(shape));
}

Tensor Tensors::labels(std::int64_t count, std::int64_t end) {
  const Tensor tensor = empty(DType::i32, {count});
  for (std::int64_t i = 0; i < count; ++i)
    tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % end);
  return tensor;
}

}  // namespace dt::table
