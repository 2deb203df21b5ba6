#pragma once
// Keeps exact sums that a device adds to while the host continues.

#include <cstdint>
#include <span>

#include "base/numeric/exact_sum.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Exact sums on a context's device. The host reads them all at once, in one copy from the device.
class DeviceSums {
 public:
  /// Starts the sums from zero. The context must outlive them.
  DeviceSums(const Context& context, int count);
  /// Adds fp64 terms: at most 2^30 of them before the next take().
  void add(int sum, const Tensor& terms_N);
  /// Adds each sum to its entry of `sums`, then starts again from zero. Blocks.
  void drain_into(std::span<ExactSum* const> sums);

 private:
  Tensor digits_view(const Buffer& buffer) const;
  const Context& context_;
  std::int64_t count_;
  Buffer digits_, host_digits_;  // on the device, and its copy on the host (one buffer if they are the same)
};

}  // namespace dt::parallel
