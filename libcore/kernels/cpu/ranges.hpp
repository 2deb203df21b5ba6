#pragma once
// Single-threaded vector loops that several kernels share.

#include <cstdint>

namespace dt::kernels::cpu {

/// y = a + b; y may alias either.
void add_range(const float* a, const float* b, float* y, std::int64_t count);

/// sums_C = Σ over rows of x_RC.
void sum_columns(const float* x, std::int64_t rows, std::int64_t columns, float* sums);

}  // namespace dt::kernels::cpu
