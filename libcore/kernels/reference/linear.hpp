#pragma once
// kernels/linear.hpp as plain loops. Sums are in double.

#include "kernels/linear.hpp"

namespace dt::kernels::reference {

template <class T>
void linear(const Context&, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN);
template <class T>
void linear_backward_input(const Context&, const Tensor& dy_RN, const Tensor& w_NK, const Tensor& dx_RK);
template <class T>
void linear_backward_weight(const Context&, const Tensor& dy_RN, const Tensor& x_RK, const Tensor& dw_NK,
                            const Tensor& dbias_N);

template <class T>
void bias_backward(const Context&, const Tensor& dy_RN, const Tensor& dbias_N);

}  // namespace dt::kernels::reference
