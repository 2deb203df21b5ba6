#pragma once
// Exact sums that a device adds to while the host goes on.

#include <cstdint>
#include <span>

#include "base/exact_sum.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Where a context computes; the host reads them together, in one look at the device.
class DeviceSums {
 public:
  /// Zero. The context must outlive them.
  DeviceSums(const Context& context, int count);
  /// Adds fp64 terms: 2^30 of them at most before the next look.
  void add(int sum, const Tensor& terms_N);
  /// Blocks; adds them to `sums`, of which there are as many, and begins with zero again.
  void take(std::span<ExactSum* const> sums);

 private:
  Tensor of(const Buffer& buffer) const;
  const Context& context_;
  std::int64_t count_;
  Buffer digits_, seen_;  // there, and what the host sees of them: the same memory where that is one
};

}  // namespace dt::parallel
