#pragma once
// Vector arithmetic over whole buffers.

#include <cstdint>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// y = a + b, of one dtype: f64, f32, bf16 or f16; y may alias either.
void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y);
/// y_RN = x_RN + bias_N + residual_RN, added in this order and rounded once: what `linear` adds to a product,
/// where the product is a sum over ranks. Of one dtype: f64, f32, bf16 or f16. bias and residual may be
/// absent; y may alias x or the residual.
void add_bias_residual(const Context& context, const Tensor& x_RN, const Tensor& bias_N,
                       const Tensor& residual_RN, const Tensor& y_RN);
/// target += source, rounded once: fp64 into fp64, fp32 into fp32 or bf16.
void accumulate(const Context& context, const Tensor& source, const Tensor& target);
/// target = source in target's dtype, rounded to nearest, ties to even: any of f64, f32, bf16 and f16 into
/// any of them; between fp64 and the 16-bit ones by way of fp32.
void convert(const Context& context, const Tensor& source, const Tensor& target);
/// Where `width` columns of rows begin: [R, S] from `first` on.
struct ColumnBlock {
  Tensor rows_RS;
  std::int64_t first = 0;
};
/// The same of some columns of rows, into as many of as many rows.
void convert_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                     std::int64_t width);
/// Any dtype, also between the host and the context's GPU: of its stream then, the host's memory stays until
/// it is done.
void copy(const Context& context, const Tensor& source, const Tensor& target);
void zero(const Context& context, const Tensor& target);
/// Every element `value`, rounded to the target's dtype: f64, f32, bf16 or f16.
void fill(const Context& context, double value, const Tensor& target);

/// Sums that cross ranks are made of fp64 partials of this many consecutive elements (the last block may be
/// short).
inline constexpr std::int64_t sum_block_elements = 4096;
inline std::int64_t num_sum_blocks(std::int64_t elements) {
  return (elements + sum_block_elements - 1) / sum_block_elements;
}
/// partials_N[i] = Σ x² over block i of N, in fp64; x is f64, f32, bf16 or f16. The same bits for any number
/// of threads.
void sum_squares_by_block(const Context& context, const Tensor& x, const Tensor& partials_N);
/// Adds fp64 terms to the digits [ExactSum::num_digits + 1] of an exact sum, int64: as many as
/// ExactSum::add_to_digits takes. Integers, so the order of terms does not matter.
void add_exactly(const Context& context, const Tensor& terms_N, const Tensor& digits_D);

}  // namespace dt::kernels
