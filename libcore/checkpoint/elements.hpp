#pragma once
// Elements in files as elements in memory.

#include <cstddef>
#include <cstdint>

#include "base/dtype.hpp"

namespace dt::checkpoint {

/// Whether copy_elements takes this pair: equal types, or f64, f32, bf16 or f16 to f64 or f32.
bool converts(DType from, DType to);

/// Copies `count` elements; f64 to f32 rounds to nearest. `source` may be unaligned.
void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count);

}  // namespace dt::checkpoint
