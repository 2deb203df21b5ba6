#pragma once
// Stores that do not go through the caches.

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.hpp"

namespace dt::kernels::cpu {

/// About what a last-level cache has for one process. (What machines say of it, virtual ones above all, is
/// of no use.)
inline constexpr std::size_t cache_bytes = std::size_t{32} << 20;

/// Whether an operation that reads `bytes_read` and writes all of rows_RC once does so past the caches: where
/// both together are larger than those, what was written first is gone from them by the end, and a line that
/// is written whole need not be read first. Rows begin at lines then.
inline bool writes_past_caches(const Tensor& rows_RC, std::size_t bytes_read) {
  constexpr std::size_t line = 64;
  const std::size_t row_bytes = static_cast<std::size_t>(rows_RC.dim(1)) * dtype_bytes(rows_RC.dtype());
  const bool at_lines = reinterpret_cast<std::uintptr_t>(rows_RC.raw()) % line == 0 && row_bytes % line == 0;
  return at_lines && rows_RC.bytes() + bytes_read > cache_bytes;
}

}  // namespace dt::kernels::cpu
