#pragma once
// kernels/attention.hpp as plain loops. Sums are in double.

#include "kernels/attention.hpp"

namespace dt::kernels::reference {

template <class T>
void attention(const Context&, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT);
template <class T>
void attention_backward(const Context&, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients);
template <class T>
void merge_attention(const Context&, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to);
void first_visible(const Context&, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R);
void document_starts(const Context&, const Tensor& bounds_N1, const Tensor& first_R);
template <class T>
void rotary_tables(const RotaryFrequencies& frequencies, const Tensor& cos_PD2, const Tensor& sin_PD2);
template <class T>
void rotary(const Context&, const AttentionShape& shape, const Tensor& positions_R, const Tensor& cos_PD2,
            const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE);

}  // namespace dt::kernels::reference
