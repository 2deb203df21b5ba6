#pragma once
// Vector arithmetic over whole buffers.

#include <cstdint>

#include "base/numeric/integer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Computes y = a + b. All have one dtype: f64, f32, bf16 or f16. y may alias either input.
void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y);
/// Computes y_RN = x_RN + bias_N + residual_RN: what `linear` adds to a product, for products that
/// are sums over ranks. bias and residual may be absent. y may alias x or the residual.
/// Numerics: one dtype: f64, f32, bf16 or f16. Added in this order and rounded once.
void add_bias_residual(const Context& context, const Tensor& x_RN, const Tensor& bias_N,
                       const Tensor& residual_RN, const Tensor& y_RN);
/// Computes y = scale · x + residual. The residual may be absent. y may alias x or the residual.
/// Numerics: one dtype: f64, f32, bf16 or f16. The scale has the precision of statistics, and the
/// result is rounded once.
void scale_add(const Context& context, double scale, const Tensor& x, const Tensor& residual,
               const Tensor& y);
/// Computes target += source, rounded once: fp64 into fp64, fp32 into fp32 or bf16.
void accumulate(const Context& context, const Tensor& source, const Tensor& target);
/// Computes target = source in target's dtype. Both are any of f64, f32, bf16 and f16.
/// Numerics: rounded to nearest, ties to even. Conversions between fp64 and 16 bits go through
/// fp32.
void cast(const Context& context, const Tensor& source, const Tensor& target);
/// The start of a block of columns: columns of [R, S] from `first` on.
struct ColumnBlock {
  Tensor rows_RS;
  std::int64_t first = 0;
};
/// Converts `width` columns of all rows, like convert().
void cast_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                  std::int64_t width);
/// Copies any dtype, also between the host and the context's GPU. Such a copy is work of the GPU's
/// stream, and the host's memory must stay valid until it is done.
void copy(const Context& context, const Tensor& source, const Tensor& target);
void zero(const Context& context, const Tensor& target);
/// Sets every element to `value`, rounded to the target's dtype: f64, f32, bf16 or f16.
void fill(const Context& context, double value, const Tensor& target);

/// The number of consecutive elements in each fp64 partial of a sum over ranks. The last block may
/// be shorter.
inline constexpr std::int64_t sum_block_elements = 4096;
inline std::int64_t num_sum_blocks(std::int64_t elements) {
  return ceil_div(elements, sum_block_elements);
}
/// Computes partials_N[i] = Σ x² over block i of N, in fp64. x is f64, f32, bf16 or f16.
/// Numerics: the same bits for any number of threads.
void sum_squares_by_block(const Context& context, const Tensor& x, const Tensor& partials_N);
/// Adds fp64 terms to the int64 digits [ExactSum::num_digits + 1] of an exact sum. There are no
/// more terms than ExactSum::add_to_digits accepts.
/// Numerics: digits are integers, so that the order of terms does not matter.
void accumulate_exact(const Context& context, const Tensor& terms_N, const Tensor& digits_D);

}  // namespace dt::kernels
