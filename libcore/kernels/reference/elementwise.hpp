#pragma once
// kernels/elementwise.hpp as plain loops. Sums are in double.

#include "kernels/elementwise.hpp"

namespace dt::kernels::reference {

template <class T>
void add(const Context&, const Tensor& a, const Tensor& b, const Tensor& y);
template <class T>
void add_bias_residual(const Context&, const Tensor& x_RN, const Tensor& bias_N, const Tensor& residual_RN,
                       const Tensor& y_RN);
template <class T>
void accumulate(const Context&, const Tensor& source, const Tensor& target);
void cast(const Context&, const Tensor& source, const Tensor& target);
void cast_columns(const Context&, const ColumnBlock& source, const ColumnBlock& target, std::int64_t width);
void fill(const Context&, double value, const Tensor& target);
template <class T>
void sum_squares_by_block(const Context&, const Tensor& x, const Tensor& partials_N);

}  // namespace dt::kernels::reference
