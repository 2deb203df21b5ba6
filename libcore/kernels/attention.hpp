#pragma once
// Causal self-attention over packed queries, keys and values, and the rotary position encoding.
// Legend: B batch, T sequence, H query heads, K key-value heads (H a multiple of K), D head dim; R = B·T
// rows; E = (H + 2K)·D: a row holds H query heads, then K key heads, then K value heads, each of D values.

#include "kernels/rotary_scaling.hpp"
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

/// y = softmax(q·kᵀ/√D, masked) · v per head; query head h reads key-value head ⌊h·K/H⌋. The query at
/// position t of a sequence sees the keys first..t, where first is int32 first_R's element of its row, or 0
/// where first_R is absent: 0 ≤ first ≤ t, nondecreasing within a sequence. A sliding window is first =
/// max(0, t − window + 1); of packed documents, first is where the row's document starts. Blocks that nobody
/// sees cost nothing. lse_BHT keeps the log of each row's sum of exponentials for the backward; y may not
/// alias qkv. Scores are never held for more than a block of queries and keys. Dtypes: qkv and y alike f64,
/// f32, bf16 or f16; lse f64 for f64, else f32.  Numerics: sums and softmax in fp32; where 16-bit operands
/// are multiplied in bf16, so are the weights and, in the backward, their gradients. Sources: Vaswani et al.
/// 2017, eq. 1; Ainslie et al. 2023; Dao et al. 2022, algorithm 1 (online softmax).
void attention(const Context& context, const AttentionShape& shape, const Tensor& first_R,
               const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT);
/// Writes dqkv_RE (all of it), of qkv's dtype as is dy; it may alias qkv_RE.
void attention_backward(const Context& context, const AttentionShape& shape, const Tensor& first_R,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE);

/// first_R = max(t − window + 1, start, 0), where t is the row's position within its sequence and start its
/// element of starts_R (0 where that is absent): a window of as many keys, the query's own included, that
/// does not reach behind the start. Source: Jiang et al. 2023, section 2 (sliding window attention).
void first_visible(const Context& context, std::int64_t sequence, std::int64_t window, const Tensor& starts_R,
                   const Tensor& first_R);

/// Fills cos_PD2 and sin_PD2 [positions, D/2] with the angles p · frequency(i), computed in double, where
/// frequency(i) is theta^(−2i/D), scaled. Source: Su et al. 2021, section 3.4.2; kernels/rotary_scaling.hpp.
void rotary_tables(const RotaryFrequencies& frequencies, const Tensor& cos_PD2, const Tensor& sin_PD2);

/// Rotates the query and key heads of every row in place: features i and i + D/2 of a head are a pair (as
/// Llama checkpoints have them). `inverse` rotates back, which is the backward. The tables are f64 for f64
/// qkv, else f32.
void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE);

}  // namespace dt::kernels
