#pragma once
// Computes the squared norm of gradients that ranks hold in shards.

#include "parallel/state/device_sums.hpp"
#include "parallel/state/local_table.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Adds to sum number `index` of `sums` the squares of the elements of a group's gradient that this
/// rank counts. Of the elements that replicas also hold, it counts its range. `gradient` is the
/// rank's own shard. Over all ranks, each element is counted once.
/// Numerics: partial sums are of the whole flat buffer's blocks, so that the bits do not depend on
/// ZeRO.
void add_squared_norm(const Context& context, const LocalTable& local, const LocalGroup& group,
                      const Tensor& gradient, DeviceSums& sums, int index);

}  // namespace dt::parallel
