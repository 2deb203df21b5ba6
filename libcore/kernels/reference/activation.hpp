#pragma once
// kernels/activation.hpp as plain loops. Sums are in double.

#include "kernels/activation.hpp"

namespace dt::kernels::reference {

template <class T>
void gelu(const Context&, const Tensor& x_RF, const Tensor& y_RF);
template <class T>
void gelu_backward(const Context&, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF);
template <class T>
void swiglu(const Context&, const Tensor& gate_up_RG, const Tensor& y_RF);
template <class T>
void swiglu_backward(const Context&, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG);

}  // namespace dt::kernels::reference
