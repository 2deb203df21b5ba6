#pragma once
// Causal attention in the format of its operands, forward and backward apart, by dt and by PyTorch.

#include <limits>

#include "bench/table/torch_kernels.hpp"

namespace dt::table {

class Attention {
 public:
  Attention(const kernels::AttentionShape& shape, DType dtype) : shape_(shape), dtype_(dtype) {}

  /// Measures each library in turn for some rounds; may be called again at another time.
  void measure(TorchKernels* torch);

  const AttentionSeconds& dt() const { return dt_; }
  /// Returns PyTorch's times; infinite if they were not measured.
  const AttentionSeconds& torch() const { return torch_; }
  /// Returns the time of forward and backward, each at the best of both libraries.
  double seconds_at_best() const;
  /// Returns FLOP of the half square: two products forward, five backward.
  double forward_work() const;
  double backward_work() const { return 2.5 * forward_work(); }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  kernels::AttentionShape shape_;
  DType dtype_;
  AttentionSeconds dt_{infinite, infinite}, torch_{infinite, infinite};
};

}  // namespace dt::table
