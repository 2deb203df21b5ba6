#pragma once
// Causal attention of heads that lie in rows of tensors, whole or a block of keys at a time, and the rotary
// position encoding.
// Legend: B batch, T sequence, Tq its queries and Tk its keys in a call, H query heads, K key-value heads (H
// a multiple of K), D head dim; R = B·Tq rows; Q = H·D; E = (H + 2K)·D: a packed row holds H query heads,
// then K key heads, then K value heads, each of D values; N documents.

#include <string>
#include <vector>

#include "kernels/rotary_scaling.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

struct AttentionShape {
  std::int64_t batch;            // B
  std::int64_t sequence;         // T; of an attention: Tq
  std::int64_t query_heads;      // H
  std::int64_t key_value_heads;  // K
  std::int64_t head_dim;         // D
};

/// Heads side by side in the columns of a [rows, S] tensor from `first` on. The rows are those of B
/// sequences, one sequence after the other.
struct Columns {
  Tensor rows_RS;
  std::int64_t first = 0;
};
/// Queries have B·Tq rows, keys and values B·Tk. They may lie in one tensor or in several.
struct QueriesKeysValues {
  Columns q, k, v;
};
/// Those of packed rows, where Tk = Tq.
QueriesKeysValues packed(const AttentionShape& shape, const Tensor& qkv_RE);

/// What queries see. The queries of a call stand at positions query_position … query_position + Tq − 1 of
/// their sequences, the keys at key_position … key_position + Tk − 1. The query at position p sees those of
/// the keys that stand at first..p, where first is int32 first_R's element of its row, or 0 where first_R is
/// absent: 0 ≤ first ≤ p, nondecreasing within a sequence. Both positions ≥ 0: a query may stand before all
/// keys of the call, and sees none then, or behind them.
struct Visibility {
  Tensor first_R;
  std::int64_t query_position = 0, key_position = 0;
};

/// y = softmax(q·kᵀ/√D, masked) · v per head; query head h reads key-value head ⌊h·K/H⌋. lse_BHT [B, H, Tq]
/// is the natural logarithm of each row's sum of exponentials, for the backward and to merge by. A query
/// that sees no key has y = 0 and lse = −∞. y may not alias q, k or v. Blocks that nobody sees cost nothing;
/// scores are never held for more than a block of queries and keys. A value's bits do not depend on the
/// number of threads, nor on the tensor, the columns and the batch entry that it lies in.
///
/// What first_R expresses, alone or together: a sliding window (first_visible); documents of any lengths,
/// packed without padding (document_starts), rectangles of which the last is short among them: all rows are
/// then one sequence, B = 1. Positions are the sequence's, so that one first_R serves a rank's queries
/// whichever block of keys comes by. Of a ring in zigzag order each pair of chunks is whole, a diagonal, or
/// nothing.
///
/// On GPUs cuDNN takes Columns (strides) and B × T rectangles as they are, causal or whole, and lse ([B, H,
/// T, 1], natural, fp32); first_R becomes what is added to scores, so that documents and windows cost it as
/// much as all keys of the call, whichever block of keys comes by. It writes 16 bits: what is asked for in
/// fp32, of a ring, is rounded before it is merged.
///
/// Dtypes: q, k and v alike f64, f32, bf16 or f16; y theirs, or f32 beside 16 bits; lse f64 for f64, else
/// f32.  Numerics: sums and softmax in fp32; where 16-bit operands are multiplied in bf16, so are the weights
/// and, in the backward, their gradients. Sources: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023; Dao et
/// al. 2022, algorithm 1 (online softmax); Liu et al. 2023 (blocks of keys by turns).
void attention(const Context& context, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT);

/// Where gradients go, and whether they are added to what is there. Each is of the inputs' dtype or f32
/// (f64 beside f64); dk and dv alike. What is added to is f32 (f64).
struct AttentionGradients {
  QueriesKeysValues to;
  bool add_q = false;
  bool add_kv = false;
};

/// The gradients through one block of keys: y and lse are those of the queries' attention to all of their
/// keys, so that dq of blocks adds up to the whole, and each block's dk and dv are whole where all queries
/// have added to them. Writes all rows of dq, dk and dv, whoever saw them. dy and y are of the inputs' dtype.
/// Where dq overwrites it may lie over q, dk over k and dv over v; else they overlap nothing.
void attention_backward(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients);

/// Whether attention_backward had better not write gradients over what they are gradients of: a GPU's
/// library, where it is, reads its inputs to the end, and what lies over them would be copied there.
bool has_gradients_apart(Device device, DType dtype, std::int64_t head_dim);

/// What computes attention of 16 bits on GPUs where it can; dt's own kernels compute the rest.
struct AttentionLibrary {
  std::string name{};     // with its version: "cuDNN 9.19.0"; empty where there is none
  std::string why_not{};  // where there is none
  /// Major number of the compute capability of GPUs on which its backward pass can do without a value for
  /// each query and key: it adds up dq in a fixed order instead, which is slower. 0: on none.
  int ordered_major = 0;
};
AttentionLibrary attention_library();

/// What a library on GPUs was asked for so far, of which it has no kernel, and why; a line each. dt's own,
/// slower kernels computed it.
std::vector<std::string> attention_declines();

/// One attention's share over some of its keys: y_RQ and lse_BHT.
struct PartialAttention {
  Tensor y_RQ, lse_BHT;
};
/// The attention to all keys of two parts that share none: lse = log(e^lse_a + e^lse_b), y = e^(lse_a − lse)
/// · y_a + e^(lse_b − lse) · y_b. `to` may lie over either part. Merging with a part that saw nothing changes
/// no value. Dtypes: f64 throughout, or f32, and to.y_RQ f32, bf16 or f16.  Numerics: fp32, rounded once.
/// Source: Liu et al. 2023, section 3; Dao 2023, section 3.1.
void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to);

/// first_R = max(p − window + 1, start, 0), where p = position + t is the row's position, t its place among
/// the `sequence` rows of its sequence, and start its element of starts_R (0 where that is absent): a window
/// of as many keys, the query's own included, that does not reach behind the start. Source: Jiang et al.
/// 2023, section 2 (sliding window attention).
void first_visible(const Context& context, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R);

/// first_R of R rows that are one sequence of N documents: where the row's document starts. bounds_N1 int32
/// (as cu_seqlens): 0, then where each document ends, nondecreasing, R at last.
void document_starts(const Context& context, const Tensor& bounds_N1, const Tensor& first_R);

/// Fills cos_PD2 and sin_PD2 [positions, D/2] with the angles p · frequency(i), computed in double, where
/// frequency(i) is theta^(−2i/D), scaled. Source: Su et al. 2021, section 3.4.2; kernels/rotary_scaling.hpp.
void rotary_tables(const RotaryFrequencies& frequencies, const Tensor& cos_PD2, const Tensor& sin_PD2);

/// Rotates the query and key heads of every row in place: features i and i + D/2 of a head are a pair (as
/// Llama checkpoints have them). `inverse` rotates back, which is the backward. The tables are f64 for f64
/// qkv, else f32.
void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE);

}  // namespace dt::kernels
