#pragma once
// Stores that bypass the caches.

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.hpp"

namespace dt::kernels::cpu {

/// An estimate of one process's share of a last-level cache. The sizes that machines report,
/// virtual ones above all, are useless.
inline constexpr std::size_t cache_bytes = std::size_t{32} << 20;

/// Returns whether an operation that reads `bytes_read`, and writes all of rows_RC once, should
/// bypass the caches. If both together exceed the caches, the first writes are evicted before the
/// operation ends. Such a store need not read a line that it writes whole, so that rows must start at
/// lines.
inline bool use_nontemporal_stores(const Tensor& rows_RC, std::size_t bytes_read) {
  constexpr std::size_t line = 64;
  const std::size_t row_bytes = static_cast<std::size_t>(rows_RC.dim(1)) * dtype_bytes(rows_RC.dtype());
  const bool at_lines = reinterpret_cast<std::uintptr_t>(rows_RC.raw()) % line == 0 && row_bytes % line == 0;
  return at_lines && rows_RC.bytes() + bytes_read > cache_bytes;
}

}  // namespace dt::kernels::cpu
