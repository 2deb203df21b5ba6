#pragma once
// Computes attention by a library's fused kernels: cuDNN, and for tests loops. A program is linked
// with one of them, which also defines kernels::attention_library.
// Legend: as kernels/attention.hpp.

#include <string>

#include "kernels/attention.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::kernels::cuda {

enum class Mask {
  none,    // queries see all keys
  causal,  // query t sees the keys 0..t
  added,   // a tensor is added to the scores
};

/// A call. q, k, v, y and added have one 16-bit dtype, lse is fp32.
struct FusedAttention {
  AttentionShape shape;
  Mask mask = Mask::none;
  QueriesKeysValues qkv;
  Columns y;
  Tensor lse_BHT;
  Tensor added_BTT;  // [B, Tq, Tk], for all heads; with Mask::added

  std::int64_t keys() const { return qkv.k.rows_RS.dim(0) / shape.batch; }  // Tk
};
/// The gradients of a call. They have the same dtype, and overlap nothing.
struct FusedAttentionGradients {
  Columns dy;
  QueriesKeysValues to;
};

/// Returns what tells the call from others; see Accelerator::submit.
WorkKey key_of(const FusedAttention& attention);
WorkKey key_of(const FusedAttention& attention, const FusedAttentionGradients& gradients);

/// Enqueues attention. Returns false, and has enqueued nothing, if the library has no kernel for it
/// or is absent. y and lse are as those of attention(). They have the same bits each time.
/// Errors: environment, naming the GPU and what the library says.
bool attend(const Context& context, const FusedAttention& attention);
/// Enqueues the gradients in the same way. They follow from y and lse.
bool attend_backward(const Context& context, const FusedAttention& attention,
                     const FusedAttentionGradients& gradients);

/// Sets what the library reads of the environment. Loads nothing.
/// Thread safety: call while the program has one thread.
void prepare_fused_attention();

/// Keeps a line that says what the library has no kernel for, unless attention_fallbacks() has the line
/// already. A run reports it once, after its first step.
/// Thread safety: safe from several threads.
void record_attention_fallback(const std::string& line);

}  // namespace dt::kernels::cuda
