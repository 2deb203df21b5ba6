#pragma once
// Computes attention by a library's fused kernels: for 16-bit heads of a multiple of 8 features,
// with masks that the library knows or that can be added to scores.

#include "kernels/attention.hpp"

namespace dt::kernels::cuda {

/// Compute as attention and attention_backward do. Return false, without a visible effect, if the
/// library is not asked or has no kernel.
bool attention_by_library(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                          const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT);
bool attention_backward_by_library(const Context& context, const AttentionShape& shape,
                                   const Visibility& visibility, const Tensor& dy_RQ,
                                   const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
                                   const AttentionGradients& gradients);

}  // namespace dt::kernels::cuda
