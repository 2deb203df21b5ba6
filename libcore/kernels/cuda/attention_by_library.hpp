#pragma once
// What of attention a library's fused kernels are asked for: 16-bit heads of a multiple of 8 features whose
// queries see keys in a way that it knows, or that can be added to scores.

#include "kernels/attention.hpp"

namespace dt::kernels::cuda {

/// As attention and attention_backward; false where the library is not asked or has no kernel: nothing is
/// enqueued that shows then.
bool attention_by_library(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                          const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT);
bool attention_backward_by_library(const Context& context, const AttentionShape& shape,
                                   const Visibility& visibility, const Tensor& dy_RQ,
                                   const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
                                   const AttentionGradients& gradients);

}  // namespace dt::kernels::cuda
