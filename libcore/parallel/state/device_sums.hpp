#pragma once
// Keeps exact sums that a device adds to while the host continues. Adds the squared norm of gradients that
// ranks hold in shards to such sums.

#include <cstdint>
#include <span>

#include "base/numeric/exact_sum.hpp"
#include "parallel/state/local_table.hpp"
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

/// Adds to sum number `index` of `sums` the squares of the elements of a group's gradient that this
/// rank counts. Of the elements that replicas also hold, it counts its range. `gradient` is the
/// rank's own shard. Over all ranks, each element is counted once.
/// Numerics: partial sums are of the whole flat buffer's blocks, so that the bits do not depend on
/// ZeRO.
void add_squared_norm(const Context& context, const LocalGroup& group, const Tensor& gradient,
                      DeviceSums& sums, int index);

}  // namespace dt::parallel
