#pragma once
// Causal attention of heads in the rows of tensors, over all keys or one block of keys at a time.
// Legend: B batch, T sequence, Tq queries and Tk keys of a sequence in one call, H query heads, K
// key-value heads (H is a multiple of K), D head dim, R = B·Tq rows, Q = H·D, E = (H + 2K)·D, N
// documents. A packed row holds H query heads, then K key heads, then K value heads, each of D
// values.

#include <cmath>
#include <string>
#include <vector>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// The function that turns products q·k into scores before they are masked: scale · q·k or, with a soft
/// cap, cap · tanh(scale · q·k / cap).
/// Source: Gemma Team 2024 (Gemma 2), section 2 (logit soft-capping).
struct ScoreTransform {
  double scale = 0;    // 0: 1/√D
  double softcap = 0;  // 0: none
};

struct AttentionShape {
  std::int64_t batch;            // B
  std::int64_t sequence;         // T; in an attention: Tq
  std::int64_t query_heads;      // H
  std::int64_t key_value_heads;  // K
  std::int64_t head_dim;         // D
  ScoreTransform scores{};       // for attentions alone
};

/// Returns the factor of products q·k, rounded to V.
template <class V>
V score_scale(const AttentionShape& shape) {
  const double scale = shape.scores.scale;
  return scale == 0 ? 1 / std::sqrt(static_cast<V>(shape.head_dim)) : static_cast<V>(scale);
}

/// Adjacent heads in the columns of a [rows, S] tensor from `first` on. The rows are B sequences,
/// one after the other.
struct Columns {
  Tensor rows_RS;
  std::int64_t first = 0;
};
/// Queries have B·Tq rows, keys and values B·Tk. They may be in one tensor or in several.
struct QueriesKeysValues {
  Columns q, k, v;
};
/// Returns the queries, keys and values of packed rows, for which Tk = Tq.
QueriesKeysValues packed(const AttentionShape& shape, const Tensor& qkv_RE);

/// The keys that queries see. The queries of a call are at positions
/// [query_position, query_position + Tq) of their sequences, the keys at
/// [key_position, key_position + Tk). The query at position p sees the keys at positions first..p.
/// Here first is int32 first_R's element of the query's row, or 0 if first_R is absent. first_R
/// obeys 0 ≤ first ≤ p and is nondecreasing within a sequence. Both positions are ≥ 0. A query may
/// be before all keys of the call, and then sees none, or after them.
struct Visibility {
  Tensor first_R;
  std::int64_t query_position = 0, key_position = 0;
};

/// Computes y = softmax(scores of q·kᵀ, masked) · v for each head. Query head h reads key-value
/// head ⌊h·K/H⌋. lse_BHT [B, H, Tq] is the natural logarithm of each row's sum of exponentials, for the
/// backward and for merging. A query that sees no key has y = 0 and lse = −∞. y may not alias q, k
/// or v. Blocks that no query sees cost nothing. At most the scores of one block of queries and
/// keys exist at a time.
///
/// first_R expresses the following, alone or together: a sliding window (first_visible); documents
/// of any lengths, packed without padding (document_starts); and rectangles whose last row is
/// short, as documents. With documents, all rows are one sequence, B = 1. Positions are the
/// sequence's, so that one first_R serves a rank's queries for every block of keys. In ring
/// attention in zigzag order, each pair of a query chunk and a key chunk is fully visible, causal,
/// or empty.
///
/// On GPUs cuDNN takes Columns (strides) and B × T rectangles directly, causal or unmasked, and lse
/// ([B, H, T, 1], natural, fp32). first_R becomes a tensor that is added to scores. Documents and
/// windows thus cost as much as all keys of the call, for every block of keys. cuDNN writes 16-bit
/// results. So results requested in fp32, as in a ring, are rounded before they are merged.
/// Soft caps are dt's operations in cuDNN's graph. Where cuDNN has no kernel for that graph, dt's own,
/// slower kernels compute, and attention_fallbacks() tells.
///
/// If max_scores_H [H] is present, each element is raised to the head's largest scaled product scale · q·k
/// over all queries and the keys that they see, before any soft cap. It has lse's dtype. It must be absent on
/// GPUs.
///
/// Numerics: q, k and v have one dtype: f64, f32, bf16 or f16. y has theirs, or f32 for 16 bits.
/// lse is f64 for f64, else f32. Sums and softmax are in fp32. If 16-bit operands are multiplied in
/// bf16, the weights and, in the backward, their gradients are rounded to bf16, too. A value's bits
/// do not depend on the number of threads, nor on the tensor, the columns and the batch entry that
/// it is in.
/// Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023; Dao et al. 2022, algorithm 1 (online
/// softmax); Liu et al. 2023 (blocks of keys in turn).
void attention(const Context& context, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
               const Tensor& max_scores_H = {});

/// The targets of gradients, and whether gradients are added to them. Each target has the inputs'
/// dtype or f32 (f64 for f64 inputs); dk and dv have the same. A target that is added to is f32
/// (f64).
struct AttentionGradients {
  QueriesKeysValues to;
  bool add_q = false;
  bool add_kv = false;
};

/// Computes the gradients through one block of keys. y and lse are those of the queries' attention
/// to all of their keys. Thus dq summed over blocks is the whole gradient, and each block's dk and
/// dv are complete once all queries have added to them. Writes all rows of dq, dk and dv, seen or
/// not. dy and y have the inputs' dtype. A dq that is overwritten may alias q, likewise dk with k
/// and dv with v; otherwise the tensors must not overlap.
void attention_backward(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients);

/// Returns whether gradients of attention_backward should not alias their inputs. A GPU's library,
/// if present, reads its inputs to the end, so that aliased ones would be copied there.
bool needs_separate_gradients(Device device, DType dtype, std::int64_t head_dim);

/// The library that computes 16-bit attention on GPUs where it can. dt's own kernels compute the
/// rest.
struct AttentionLibrary {
  std::string name{};                // with its version: "cuDNN 9.19.0"; empty if there is none
  std::string unavailable_reason{};  // reason if there is none
  /// The major compute capability of GPUs on which the library's backward pass can do without
  /// memory for a value of each query and key. It then sums dq in a fixed order, which is slower.
  /// 0: no GPU.
  int ordered_major = 0;
};
AttentionLibrary attention_library();

/// Returns what a library on GPUs was asked for so far but has no kernel for, with the reason, one
/// line each. dt's own, slower kernels computed these.
std::vector<std::string> attention_fallbacks();

/// The result of attention over some of its keys: y_RQ and lse_BHT.
struct PartialAttention {
  Tensor y_RQ, lse_BHT;
};
/// Merges the attention to two disjoint parts of the keys:
/// lse = log(e^lse_a + e^lse_b); y = e^(lse_a − lse) · y_a + e^(lse_b − lse) · y_b.
/// `to` may alias either part. Merging with a part that saw no key changes no value.
/// Numerics: f64 throughout, or f32 with to.y_RQ f32, bf16 or f16. Computed in fp32, rounded once.
/// Source: Liu et al. 2023, section 3; Dao 2023, section 3.1.
void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to);

/// Computes first_R = max(p − window + 1, start, 0) for a window of that many keys, the query's own
/// included, which does not reach before the start. Here p = position + t is the row's position, t
/// its index among the `sequence` rows of its sequence, and start its element of starts_R (0 if
/// that is absent).
/// Source: Jiang et al. 2023, section 2 (sliding window attention).
void first_visible(const Context& context, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R);

/// Computes first_R, the start of each row's document, for R rows that are one sequence of N
/// documents. bounds_N1 is int32 (as cu_seqlens): 0, then the end of each document, nondecreasing,
/// the last one R.
void document_starts(const Context& context, const Tensor& bounds_N1, const Tensor& first_R);

}  // namespace dt::kernels
