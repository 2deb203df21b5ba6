#pragma once
// Times of calls, and tensors to call with.

#include <functional>
#include <vector>

#include "tensor/buffer.hpp"
#include "tensor/tensor.hpp"

namespace dt::table {

/// Returns the seconds of one call.
double time_s(const std::function<void()>& body);
/// Returns the best of as many calls as take `at_least_s`, in seconds.
double best_s(const std::function<void()>& body, double at_least_s);

/// Owns the memory of tensors that it makes.
class Tensors {
 public:
  /// Returns small values that are not all equal.
  Tensor floats(DType dtype, Shape shape);
  Tensor empty(DType dtype, Shape shape);
  /// Returns int32 values in [0, end).
  Tensor labels(std::int64_t count, std::int64_t end);

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace dt::table
