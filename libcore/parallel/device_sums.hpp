#pragma once
// Keeps exact sums that a device adds to while the host goes on.

#include <cstdint>
#include <span>

#include "base/exact_sum.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Exact sums on a context's device. The host reads them all at once, in one copy from the device.
class DeviceSums {
 public:
  /// Begins with zero. The context must outlive the sums.
  DeviceSums(const Context& context, int count);
  /// Adds fp64 terms: at most 2^30 of them before the next take().
  void add(int sum, const Tensor& terms_N);
  /// Adds the sums to `sums`, of which there are as many, and begins with zero again. Blocks.
  void take(std::span<ExactSum* const> sums);

 private:
  Tensor of(const Buffer& buffer) const;
  const Context& context_;
  std::int64_t count_;
  Buffer digits_, seen_;  // on the device, and as the host reads them; on the host one buffer
};

}  // namespace dt::parallel
