#pragma once
// Vector arithmetic over whole buffers.

#include <cstdint>
#include <span>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// y = a + b; y may alias either.
void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y);
void copy(const Context& context, const Tensor& source, const Tensor& target);
void zero(const Context& context, const Tensor& target);

/// Sums that cross ranks are made of fp64 partials of this many consecutive elements (the last block may be
/// short).
inline constexpr std::int64_t sum_block_elements = 4096;
inline std::int64_t num_sum_blocks(std::int64_t elements) {
  return (elements + sum_block_elements - 1) / sum_block_elements;
}
/// partials[i] = Σ x² over block i, in fp64. The same bits for any number of threads.
void sum_squares_by_block(const Context& context, const Tensor& x, std::span<double> partials);

}  // namespace dt::kernels
