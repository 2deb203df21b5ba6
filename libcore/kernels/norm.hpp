#pragma once
// Layer normalisation and root-mean-square normalisation over the last dim.
// Legend: R rows, C features. Statistics are fp32 for fp32 tensors and fp64 for fp64 tensors.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// y = (x − mean) · rstd · weight + bias per row, rstd = 1/sqrt(var + eps); mean_R and rstd_R are kept for
/// the backward. bias_C may be absent.  Source: Ba et al. 2016, section 3.
void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R);
/// dx += the gradient with respect to x.
void layer_norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                               const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                               const Tensor& dx_RC);
/// dweight += Σ over rows of dy · x̂; dbias += Σ over rows of dy (where present).
void layer_norm_backward_weight(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                                const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dweight_C,
                                const Tensor& dbias_C);

/// y = x · rstd · weight per row, rstd = 1/sqrt(mean(x²) + eps).  Source: Zhang & Sennrich 2019, eq. 4.
void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R);
/// dx += the gradient with respect to x.
void rms_norm_backward_input(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                             const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dx_RC);
/// dweight += Σ over rows of dy · x · rstd.
void rms_norm_backward_weight(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                              const Tensor& rstd_R, const Tensor& dweight_C);

}  // namespace dt::kernels
