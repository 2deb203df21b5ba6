#pragma once
// Attention by a library's fused kernels: cuDNN, and for tests loops. A program is linked with one of them,
// which also is kernels::attention_library. Legend: as kernels/attention.hpp.

#include "kernels/attention.hpp"

namespace dt::kernels::cuda {

enum class Mask {
  none,    // queries see all keys
  causal,  // query t sees the keys 0..t
  added,   // what a tensor adds to the scores
};

/// q, k, v, y and added in one 16-bit dtype, lse in fp32.
struct FusedAttention {
  AttentionShape shape;
  Mask mask = Mask::none;
  QueriesKeysValues qkv;
  Columns y;
  Tensor lse_BHT;
  Tensor added_BTT;  // [B, Tq, Tk], for all heads; with Mask::added

  std::int64_t keys() const { return qkv.k.rows_RS.dim(0) / shape.batch; }  // Tk
};
/// The gradients are of the same dtype, and overlap nothing.
struct FusedAttentionGradients {
  Columns dy;
  QueriesKeysValues to;
};

/// Enqueues it, or false where the library has no kernel for it, or is absent: nothing is enqueued then. y
/// and lse are as attention's. The same bits each time. Errors: environment, naming the GPU and what the
/// library says.
bool attend(const Context& context, const FusedAttention& attention);
/// The same of the gradients, which follow from y and lse.
bool attend_backward(const Context& context, const FusedAttention& attention,
                     const FusedAttentionGradients& gradients);

/// Sets what the library reads of the environment. Call while the program has one thread. Loads nothing.
void prepare_fused_attention();

}  // namespace dt::kernels::cuda
