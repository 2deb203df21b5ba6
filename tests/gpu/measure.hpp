#pragma once
// Times of operations on a GPU.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/system/host.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

namespace dt::test_device {

/// Holds the tensors of what is measured, until they are cleared, and measures its time. References must
/// outlive it.
class Measure {
 public:
  /// Creates a measure that runs each operation `times` times in a row.
  Measure(const Context& context, int times) : context_(context), times_(times) {}

  /// Returns a tensor of ones; integers are zeros.
  Tensor tensor(Shape shape, DType dtype = DType::bf16) {
    const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype);
    const Tensor made(memory_.emplace_back(context_.device(), bytes), dtype, std::move(shape));
    if (dtype == DType::i32)
      kernels::zero(context_, made);
    else
      kernels::fill(context_, 1, made);
    return made;
  }
  void clear() { memory_.clear(); }

  /// Returns the time of one run, in seconds, after a first run that is not counted.
  double seconds(const std::function<void()>& run) const { return seconds(run, times_); }
  double seconds(const std::function<void()>& run, int times) const {
    run();
    context_.synchronize();
    const double before_s = monotonic_s();
    for (int i = 0; i < times; ++i) run();
    context_.synchronize();
    return (monotonic_s() - before_s) / times;
  }
  int times() const { return times_; }
  const Context& context() const { return context_; }

 private:
  const Context& context_;
  int times_;
  std::vector<Buffer> memory_;
};

}  // namespace dt::test_device
