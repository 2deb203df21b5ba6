#pragma once
// Computes attention by a library's fused kernels: for 16-bit heads of a multiple of 8 features,
// with masks that the library knows or that can be added to scores. Also chooses in how many parts
// that happens and how much scratch memory it takes, for kernels and for estimates.
// Legend: as kernels/attention.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/numeric/dtype.hpp"
#include "base/numeric/integer.hpp"
#include "kernels/attention.hpp"

namespace dt::kernels::cuda {

/// Memory that masks and weights may take at a time, in bytes. If more is needed, sequences, or
/// heads of one sequence, take turns. Only tests change it.
inline std::int64_t max_chunk_bytes = std::int64_t{1} << 30;

/// Returns the largest divisor of `count` that is at most `most`, or 1. Parts are alike, so that one
/// kernel serves all.
inline std::int64_t divisor(std::int64_t count, std::int64_t most) {
  std::int64_t result = std::clamp<std::int64_t>(most, 1, count);
  while (count % result != 0) --result;
  return result;
}

/// The numbers of sequences at a time, and of their key-value heads with these heads' queries: some
/// sequences with all heads, or some heads of one sequence.
struct AttentionChunk {
  std::int64_t batches, groups;
};
inline AttentionChunk attention_chunk(std::int64_t B, std::int64_t K, std::int64_t bytes_of_group) {
  const std::int64_t fit = max_chunk_bytes / bytes_of_group;
  return {divisor(B, fit / K), fit >= K ? K : divisor(K, fit)};
}

/// Returns the bytes of a 16-bit value for each query and key, as a mask has.
inline std::int64_t square_bytes(std::int64_t Tq, std::int64_t Tk) {
  return 2 * Tq * Tk;
}

/// Returns the bytes of the weights' gradients (dS) of a query head, in whole tiles, as cuDNN's front
/// end counts them.
/// Source: cudnn-frontend 1.32, required_dp_workspace_bytes_sm90.
inline std::int64_t weights_bytes(std::int64_t Tq, std::int64_t Tk) {
  return square_bytes(round_up(Tq, 64), round_up(Tk, 128));
}

/// The way in which a library's backward pass gives the same bits each time. Either it keeps the
/// weights' gradients of all queries and keys, and sums them afterwards. Or it sums dq in a fixed
/// order, in memory for queries alone, which is slower. It takes the second way if the weights'
/// gradients of one key-value head do not fit the bound and the library can do it (`can_order`). The
/// bound and the shape decide, not the free memory, as the bits depend on the way.
struct BackwardAlgorithm {
  bool is_ordered;
  AttentionChunk at_a_time;
};
/// Returns the way for a shape. `s` has Tq as its sequence. The parts of an ordered backward are
/// bounded by its sums, of queries in fp32 and of keys for each query head, and by the mask if there
/// is one.
inline BackwardAlgorithm choose_backward_algorithm(const AttentionShape& s, std::int64_t Tk, bool is_masked,
                                                   bool can_order) {
  const std::int64_t B = s.batch, K = s.key_value_heads, D = s.head_dim, Tq = s.sequence,
                     heads = s.query_heads / K;
  const std::int64_t weights = heads * weights_bytes(Tq, Tk);
  if (!can_order || weights <= max_chunk_bytes) return {false, attention_chunk(B, K, weights)};
  const std::int64_t sums = heads * (4 * Tq * (D + 1) + (heads > 1 ? 2 * 2 * Tk * D : 0));
  return {true, attention_chunk(B, K, sums + (is_masked ? square_bytes(Tq, Tk) / K : 0))};
}

/// The conditions that scratch memory depends on beside the shape.
struct AttentionUse {
  DType dtype;
  bool in_place;   // gradients are written to their targets
  bool is_masked;  // the mask is more than a diagonal
  bool can_order;  // see choose_backward_algorithm
};
/// Returns about the most scratch bytes that attention takes, forward or backward, by dt's kernels
/// or a library's, if Tk is Tq. A library's backward pass takes the weights' gradients or dq's
/// sums, the mask, and sums of rows. If query heads share keys, it also takes their gradients of
/// these. Gradients that are not written to their targets take rows of their own.
inline std::size_t attention_scratch_bytes(const AttentionShape& s, const AttentionUse& use) {
  const std::int64_t B = s.batch, H = s.query_heads, K = s.key_value_heads, T = s.sequence, D = s.head_dim;
  const auto sum = static_cast<std::int64_t>(dtype_bytes(statistics_dtype(use.dtype)));
  const std::int64_t own = B * T * H * (D + 1) * sum;
  if (dtype_bytes(use.dtype) != 2 || D % 8 != 0) return static_cast<std::size_t>(own);
  const auto [is_ordered, at_a_time] = choose_backward_algorithm(s, T, use.is_masked, use.can_order);
  const std::int64_t heads = at_a_time.batches * at_a_time.groups * (H / K);
  // In order: dq's sums in fp32, and a counter for each tile of 64 queries.
  const std::int64_t weights = is_ordered ? 4 * T * D + ceil_div(T, 64) * 8 : weights_bytes(T, T);
  const std::int64_t shared = K < H ? 2 * heads * T * D * 2 : 0;
  const std::int64_t mask = use.is_masked ? square_bytes(T, T) : 0, lse = use.is_masked ? B * H * T * sum : 0;
  constexpr std::int64_t gaps = 256;  // between the parts of a workspace
  const std::int64_t backward = gaps + heads * (weights + T * sum) + shared + at_a_time.batches * mask + lse +
                                (use.in_place ? 0 : B * T * (H + 2 * K) * D * 2);
  const std::int64_t forward =
      attention_chunk(B, K, 1 + mask / K).batches * mask + (use.in_place ? 0 : B * T * H * D * 2);
  return static_cast<std::size_t>(std::max({own, backward, forward}));
}

/// Compute as attention and attention_backward do. Return false, without a visible effect, if the
/// library is not asked or has no kernel.
bool attention_by_library(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                          const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT);
bool attention_backward_by_library(const Context& context, const AttentionShape& shape,
                                   const Visibility& visibility, const Tensor& dy_RQ,
                                   const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
                                   const AttentionGradients& gradients);

}  // namespace dt::kernels::cuda
