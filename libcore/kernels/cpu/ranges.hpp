#pragma once
// Single-threaded vector loops that several kernels share.

#include <cstdint>

#include "tensor/tensor.hpp"

namespace dt::kernels::cpu {

/// Computes y = a + b. y may alias either input.
void add_range(const float* a, const float* b, float* y, std::int64_t count);

/// Computes target[i] += source[i] for i in [begin, end). The target is fp32 or bf16.
void accumulate_range(const float* source, const Tensor& target, std::int64_t begin, std::int64_t end);

/// Computes sums_C = Σ over rows [begin, end) of x_RC.
void sum_columns(const Tensor& x_RC, std::int64_t begin, std::int64_t end, float* sums);

}  // namespace dt::kernels::cpu
