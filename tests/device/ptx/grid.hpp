#pragma once
// Grids of a kernel in PTX.

#include <array>
#include <cstddef>
#include <span>

#include "device/ptx/warp.hpp"

namespace dt::ptx {

struct Grid {
  std::array<unsigned, 3> blocks{1, 1, 1}, threads{1, 1, 1};
  std::size_t dynamic_bytes = 0;  // shared memory
};

/// Runs all threads. `seed` sets the order of blocks, and of a block's warps between barriers. Lanes of a
/// warp go together, as far as branches let them. Shared and local memory, and registers, begin with
/// arbitrary contents.
/// Errors: internal, naming the kernel, the thread and the instruction. It reports what hardware refuses: a
/// grid of no blocks, more threads or memory than allowed, an address that is misaligned or lies in no
/// allocation. It also reports what hardware does not: barriers in divergent code, lanes that exchange
/// values with others which are elsewhere, accesses of two threads that no barrier orders, and shared
/// memory that is read before it is written.
void run(const Kernel& kernel, const Grid& grid, std::span<const std::byte> parameters,
         const FindMemory& find_memory, std::uint64_t seed);

}  // namespace dt::ptx
