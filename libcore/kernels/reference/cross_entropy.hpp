#pragma once
// kernels/cross_entropy.hpp as plain loops. Sums are in double.

#include "kernels/cross_entropy.hpp"

namespace dt::kernels::reference {

template <class T>
void cross_entropy(const Context&, const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R);
template <class T>
void cross_entropy_gradient(const Context&, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV);

template <class T>
void cross_entropy_partial(const Context&, const Tensor& logits_RV, const Tensor& labels_R, DimShard columns,
                           const Tensor& part_3R);
void cross_entropy_from_partials(const Context&, const Tensor& parts_N3R, const Tensor& labels_R,
                                 const Tensor& nll_R);
template <class T>
void cross_entropy_gradient_from_partials(const Context&, const Tensor& parts_N3R, const Tensor& labels_R,
                                          DimShard columns, double scale, const Tensor& nll_R,
                                          const Tensor& logits_RV);

}  // namespace dt::kernels::reference
