#pragma once
// Layer normalization and root-mean-square normalization over the last dim.
// Numerics: x, y, dx, dy, weight and bias have one dtype: f64, f32, bf16 or f16. Statistics are
// fp64 for fp64 tensors, else fp32. dweight and dbias are fp64 for fp64 tensors, else fp32 or bf16.
// With `plus_one`, 1 + weight takes the place of weight: a sum in the precision of statistics, which is
// not rounded.
// Legend: R rows, C features.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Computes y = (x − mean) · rstd · weight + bias for each row, rstd = 1/sqrt(var + eps). Writes
/// mean_R and rstd_R for the backward. bias_C may be absent. y may alias x.
/// Source: Ba et al. 2016, section 3.
void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R,
                bool plus_one = false);
/// Computes dx = dresidual + the gradient with respect to x; dweight += Σ over rows of dy · x̂;
/// dbias += Σ over rows of dy. dresidual_RC (a gradient that bypasses the norm) and dbias_C may be
/// absent. dx may alias dresidual, dy or x.
/// Numerics: the same bits for any number of threads.
void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C, bool plus_one = false);

/// Computes y = x · rstd · weight for each row, rstd = 1/sqrt(mean(x²) + eps). y may alias x.
/// Source: Zhang & Sennrich 2019, eq. 4.
void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R, bool plus_one = false);
/// Computes dx = dresidual + the gradient with respect to x; dweight += Σ over rows of
/// dy · x · rstd. Aliases, absent tensors and bits are as for layer_norm_backward.
void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C, bool plus_one = false);

}  // namespace dt::kernels
