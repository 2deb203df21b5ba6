#pragma once
// Prefetch of memory that a kernel needs next.

#include <cstdint>

namespace dt::kernels::cpu {

/// A prefetch into the L2 cache by an inner kernel: `unit_bytes` for each unit of k that it
/// multiplies. Kernels of tiles fetch a part with each unit. All at once would fill the core's
/// queue of misses, behind which their own loads wait. Kernels of vectors, which need every load
/// that the core can make, fetch all at once.
///
/// Kernels take it by reference. A copy on the stack that is read in another width than it was
/// written waits for every store before it.
struct Prefetch {
  const char* from = nullptr;
  std::int64_t unit_bytes = 0;

  void fetch(std::int64_t first_unit, std::int64_t units) const {
    constexpr std::int64_t line = 64;
    const char* p = from + first_unit * unit_bytes;
    for (std::int64_t i = 0; i < units * unit_bytes; i += line) __builtin_prefetch(p + i, 0, 2);
  }
};

}  // namespace dt::kernels::cpu
