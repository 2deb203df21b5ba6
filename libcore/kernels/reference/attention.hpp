#pragma once
// kernels/attention.hpp as plain loops; sums are taken in double.

#include "kernels/attention.hpp"

namespace dt::kernels::reference {

template <class T>
void attention(const Context&, const AttentionShape& shape, const Tensor& first_R, const Tensor& qkv_RE,
               const Tensor& y_RQ, const Tensor& lse_BHT);
template <class T>
void attention_backward(const Context&, const AttentionShape& shape, const Tensor& first_R,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE);
template <class T>
void rotary_tables(double theta, const Tensor& cos_PD2, const Tensor& sin_PD2);
template <class T>
void rotary(const Context&, const AttentionShape& shape, const Tensor& positions_R, const Tensor& cos_PD2,
            const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE);

}  // namespace dt::kernels::reference
