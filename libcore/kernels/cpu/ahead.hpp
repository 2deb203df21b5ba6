#pragma once
// Memory that is needed next.

#include <cstdint>

namespace dt::kernels::cpu {

/// What an inner kernel asks for, so that it lies in the L2 cache when its turn comes: so many bytes for each
/// unit of k that it multiplies. Tiles ask as they go: all at once would fill the core's queue of misses,
/// behind which their own loads wait. Vectors, which need every load that the core can make, ask at once.
///
/// Kernels take it by reference: a copy on the stack, read in another width than it was written, waits for
/// every store before it.
struct Ahead {
  const char* from = nullptr;
  std::int64_t unit_bytes = 0;

  void fetch(std::int64_t first_unit, std::int64_t units) const {
    constexpr std::int64_t line = 64;
    const char* p = from + first_unit * unit_bytes;
    for (std::int64_t i = 0; i < units * unit_bytes; i += line) __builtin_prefetch(p + i, 0, 2);
  }
};

}  // namespace dt::kernels::cpu
