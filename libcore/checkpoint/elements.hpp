#pragma once
// Elements in files as elements in memory.

#include <cstddef>
#include <cstdint>

#include "base/dtype.hpp"

namespace dt::checkpoint {

/// Whether copy_elements takes this pair: equal types, or any two of f64, f32, bf16 and f16.
bool converts(DType from, DType to);

/// Copies `count` elements, rounded once, to nearest, ties to even; what is too large becomes infinite.
/// `source` may be unaligned.
void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count);

}  // namespace dt::checkpoint
