#pragma once
// Conversion of elements between the types of files and of memory.

#include <cstddef>
#include <cstdint>

#include "base/numeric/dtype.hpp"

namespace dt::checkpoint {

/// Returns whether copy_elements() supports this pair: equal types, or any two of f64, f32, bf16
/// and f16.
bool is_convertible(DType from, DType to);

/// Copies `count` elements. `source` may be unaligned.
/// Numerics: rounds once, to nearest, ties to even. A value too large becomes infinite.
void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count);

}  // namespace dt::checkpoint
