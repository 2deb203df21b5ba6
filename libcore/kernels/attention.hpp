#pragma once
// Causal self-attention over packed queries, keys and values, and the rotary position encoding.
// Legend: B batch, T sequence, H query heads, K key-value heads (H a multiple of K), D head dim; R = B·T
// rows; E = (H + 2K)·D: a row holds H query heads, then K key heads, then K value heads, each of D values.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

struct AttentionShape {
  std::int64_t batch;            // B
  std::int64_t sequence;         // T
  std::int64_t query_heads;      // H
  std::int64_t key_value_heads;  // K
  std::int64_t head_dim;         // D
};

/// y = softmax(q·kᵀ/√D, causal) · v per head; query head h reads key-value head ⌊h·K/H⌋. lse_BHT keeps the
/// log of each row's sum of exponentials for the backward. Scores are never held for more than a block of
/// rows. Sources: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023; Dao et al. 2022, algorithm 1 (online
/// softmax).
void attention(const Context& context, const AttentionShape& shape, const Tensor& qkv_RE, const Tensor& y_RQ,
               const Tensor& lse_BHT);
/// Writes dqkv_RE (all of it).
void attention_backward(const Context& context, const AttentionShape& shape, const Tensor& dy_RQ,
                        const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE);

/// Fills cos_PD2 and sin_PD2 [positions, D/2] with the angles p · theta^(−2i/D), computed in double.
/// Source: Su et al. 2021, section 3.4.2.
void rotary_tables(double theta, const Tensor& cos_PD2, const Tensor& sin_PD2);

/// Rotates the query and key heads of every row in place: features i and i + D/2 of a head are a pair (as
/// Llama checkpoints have them). `inverse` rotates back, which is the backward.
void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE);

}  // namespace dt::kernels
