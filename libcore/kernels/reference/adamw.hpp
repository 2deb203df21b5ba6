#pragma once
// kernels/adamw.hpp as plain loops. Sums are in double.

#include "kernels/adamw.hpp"

namespace dt::kernels::reference {

template <class T>
void adamw(const Context&, const AdamWStep& step, const Tensor& w, const Tensor& grad, const Tensor& m,
           const Tensor& v, const Tensor& copy);

}  // namespace dt::kernels::reference
