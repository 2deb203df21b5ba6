#pragma once
// Times of calls, and tensors to call with.

#include <functional>
#include <vector>

#include "tensor/buffer.hpp"
#include "tensor/tensor.hpp"

namespace dt::table {

/// Seconds of one call.
double time_s(const std::function<void()>& body);
/// The best of as many calls as take `at_least_s`, in seconds.
double best_s(const std::function<void()>& body, double at_least_s);

/// Owns what it makes.
class Tensors {
 public:
  /// Small values that are not all equal.
  Tensor floats(DType dtype, Shape shape);
  Tensor empty(DType dtype, Shape shape);
  /// int32 in [0, end).
  Tensor labels(std::int64_t count, std::int64_t end);

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace dt::table
