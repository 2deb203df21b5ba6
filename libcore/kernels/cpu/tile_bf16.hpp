#pragma once
// The inner kernel on bf16 operands: AVX512_BF16's vdpbf16ps, which this version of Highway does not have.

#include <cstdint>

namespace dt::kernels::cpu {

/// Whether this machine has the instruction; the caller also asks Highway whether AVX-512 is its choice.
bool has_bf16_tiles();

/// As multiply_tile of tile.hpp, for AVX-512's panels (8 rows, 32 columns) whose units are pairs of bf16, K
/// of them. Sums are fp32; a subnormal operand or sum counts as zero, as the instruction has it.
void multiply_tile_bf16(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                        std::int64_t c_row, bool add);
/// The same with 48 columns.
void multiply_wide_tile_bf16(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                             std::int64_t c_row, bool add);

}  // namespace dt::kernels::cpu
