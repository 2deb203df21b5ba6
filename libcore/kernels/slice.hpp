#pragma once
// Which part of a dim a tensor has, where ranks divide the dim.

#include <cstdint>

namespace dt::kernels {

/// Of a dim of `total` a tensor has [first, first + held), where it has `held` itself; by default it is the
/// whole dim, and `total` is 0.
struct Slice {
  std::int64_t first = 0, total = 0;

  /// Where in the tensor `index` lies; −1 where it lies elsewhere, or is negative.
  constexpr std::int64_t place(std::int64_t index, std::int64_t held) const {
    const std::int64_t at = index - first;
    return at >= 0 && at < held ? at : -1;
  }
};

}  // namespace dt::kernels
