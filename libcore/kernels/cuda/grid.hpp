#pragma once
// How many threads a kernel for GPUs is started with.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dt::kernels::cuda {

struct Grid {
  unsigned blocks = 1, blocks_y = 1;
  unsigned threads = 1;          // of a block
  std::size_t shared_bytes = 0;  // of a block
};

inline constexpr unsigned threads_per_block = 256;

/// For a loop over `count` elements in strides of the whole grid; no more blocks than keep a GPU busy.
inline Grid grid_for(std::int64_t count) {
  constexpr std::int64_t most_blocks = 4096;
  const std::int64_t blocks = (count + threads_per_block - 1) / threads_per_block;
  return {.blocks = static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, most_blocks)),
          .threads = threads_per_block};
}

}  // namespace dt::kernels::cuda
