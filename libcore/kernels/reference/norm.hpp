#pragma once
// kernels/norm.hpp as plain loops. Sums are in double.

#include "kernels/norm.hpp"

namespace dt::kernels::reference {

template <class T>
void layer_norm(const Context&, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C, double eps,
                const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R);
template <class T>
void layer_norm_backward(const Context&, const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                         const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dresidual_RC,
                         const Tensor& dx_RC, const Tensor& dweight_C, const Tensor& dbias_C);
template <class T>
void rms_norm(const Context&, const Tensor& x_RC, const Tensor& weight_C, double eps, const Tensor& y_RC,
              const Tensor& rstd_R);
template <class T>
void rms_norm_backward(const Context&, const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                       const Tensor& rstd_R, const Tensor& dresidual_RC, const Tensor& dx_RC,
                       const Tensor& dweight_C);

}  // namespace dt::kernels::reference
