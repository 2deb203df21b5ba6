#pragma once
// What of attention a library's fused kernels are asked for: 16-bit heads of a multiple of 8 features whose
// queries see keys in a way that it knows, or that can be added to scores.

#include "kernels/attention.hpp"

namespace dt::kernels::cuda {

/// Memory that masks and weights may take at a time, in bytes: beyond it sequences, and heads of one, wait for
/// each other. Tests alone change it.
inline std::int64_t most_bytes_at_a_time = std::int64_t{1} << 30;

/// As attention and attention_backward; false where the library is not asked or has no kernel: nothing is
/// enqueued that shows then.
bool attention_by_library(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                          const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT);
bool attention_backward_by_library(const Context& context, const AttentionShape& shape,
                                   const Visibility& visibility, const Tensor& dy_RQ,
                                   const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
                                   const AttentionGradients& gradients);

}  // namespace dt::kernels::cuda
