#pragma once
// The shard of a dim that a tensor has, if ranks divide the dim.

#include <cstdint>

namespace dt::kernels {

/// A tensor with `held` elements in a dim has [first, first + held) of the dim's `total`. The
/// default is the whole dim, with `total` 0.
struct DimShard {
  std::int64_t first = 0, total = 0;

  /// Returns the place of `index` in the tensor; −1 if it is negative or outside the shard.
  constexpr std::int64_t local_index(std::int64_t index, std::int64_t held) const {
    const std::int64_t at = index - first;
    return at >= 0 && at < held ? at : -1;
  }
};

}  // namespace dt::kernels
