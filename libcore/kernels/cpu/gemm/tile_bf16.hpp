#pragma once
// The inner kernel on bf16 operands with AVX512_BF16's vdpbf16ps, which this version of Highway
// lacks.

#include <cstdint>

namespace dt::kernels::cpu {

/// Returns whether this machine has the instruction. The caller also checks that Highway has picked
/// AVX-512.
bool has_bf16_tiles();

/// Multiplies like multiply_tile of tile.hpp, for AVX-512's panels (8 rows, 32 columns) of K units,
/// which are pairs of bf16.
/// Numerics: sums are fp32. Subnormal operands and sums count as zero, as the instruction defines.
void multiply_tile_bf16(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                        std::int64_t c_row, bool add);
/// Multiplies the same with 48 columns.
void multiply_wide_tile_bf16(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                             std::int64_t c_row, bool add);

}  // namespace dt::kernels::cpu
