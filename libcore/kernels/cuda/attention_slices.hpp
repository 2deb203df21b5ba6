#pragma once
// In how many parts a library computes attention, and what scratch memory that takes: what kernels do, and
// what estimates count. Legend: as kernels/attention.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/dtype.hpp"
#include "kernels/attention.hpp"

namespace dt::kernels::cuda {

/// Memory that masks and weights may take at a time, in bytes: beyond it sequences, and heads of one, wait
/// for each other. Tests alone change it.
inline std::int64_t most_bytes_at_a_time = std::int64_t{1} << 30;

/// The largest divisor of `count` that is at most `most`, or 1: parts are alike, so that a kernel serves all.
inline std::int64_t divisor(std::int64_t count, std::int64_t most) {
  std::int64_t result = std::clamp<std::int64_t>(most, 1, count);
  while (count % result != 0) --result;
  return result;
}

/// How many sequences at a time, and key-value heads of them with their queries': some sequences with all, or
/// some of one.
struct Together {
  std::int64_t batches, groups;
};
inline Together together(std::int64_t B, std::int64_t K, std::int64_t bytes_of_group) {
  const std::int64_t fit = most_bytes_at_a_time / bytes_of_group;
  return {divisor(B, fit / K), fit >= K ? K : divisor(K, fit)};
}

/// A 16-bit value for each query and key, as a mask has.
inline std::int64_t square_bytes(std::int64_t Tq, std::int64_t Tk) {
  return 2 * Tq * Tk;
}

/// Weights' gradients (dS) of a query head, in whole tiles, as cuDNN's front end counts them. Source:
/// cudnn-frontend 1.32, required_dp_workspace_bytes_sm90.
inline std::int64_t weights_bytes(std::int64_t Tq, std::int64_t Tk) {
  return square_bytes((Tq + 63) / 64 * 64, (Tk + 127) / 128 * 128);
}

/// How a library's backward pass gives the same bits each time: it keeps the weights' gradients of all
/// queries and keys, and sums them afterwards; or, where those of one key-value head do not fit the bound and
/// the library can (`can_order`), it adds up dq in a fixed order, in memory for queries alone, which is
/// slower. The bound and the shape decide, not what memory is free: the bits are the way's.
struct BackwardWay {
  bool is_ordered;
  Together at_a_time;
};
/// `s` with Tq as its sequence. Of an ordered backward the parts are bounded by its sums, of queries in fp32
/// and of keys for each query head, and by the mask where there is one.
inline BackwardWay backward_way(const AttentionShape& s, std::int64_t Tk, bool is_masked, bool can_order) {
  const std::int64_t B = s.batch, K = s.key_value_heads, D = s.head_dim, Tq = s.sequence,
                     heads = s.query_heads / K;
  const std::int64_t weights = heads * weights_bytes(Tq, Tk);
  if (!can_order || weights <= most_bytes_at_a_time) return {false, together(B, K, weights)};
  const std::int64_t sums = heads * (4 * Tq * (D + 1) + (heads > 1 ? 2 * 2 * Tk * D : 0));
  return {true, together(B, K, sums + (is_masked ? square_bytes(Tq, Tk) / K : 0))};
}

/// What scratch memory depends on beside the shape.
struct AttentionUse {
  DType dtype;
  bool in_place;   // gradients are written where they belong
  bool is_masked;  // what queries see is more than a diagonal
  bool can_order;  // see backward_way
};
/// Scratch memory of the backward pass in bytes, about, where Tk is Tq: of a library's kernels the weights'
/// gradients or dq's sums, the mask, sums of rows, what query heads that share keys give these, and, unless
/// they are written where they belong, gradients in rows of their own.
inline std::size_t attention_scratch_bytes(const AttentionShape& s, const AttentionUse& use) {
  const std::int64_t B = s.batch, H = s.query_heads, K = s.key_value_heads, T = s.sequence, D = s.head_dim;
  const auto sum = static_cast<std::int64_t>(dtype_bytes(statistics_dtype(use.dtype)));
  const std::int64_t own = B * T * H * (D + 1) * sum;
  if (dtype_bytes(use.dtype) != 2 || D % 8 != 0) return static_cast<std::size_t>(own);
  const auto [is_ordered, at_a_time] = backward_way(s, T, use.is_masked, use.can_order);
  const std::int64_t heads = at_a_time.batches * at_a_time.groups * (H / K);
  // In order: dq's sums in fp32, and a counter for each tile of 64 queries.
  const std::int64_t weights = is_ordered ? 4 * T * D + (T + 63) / 64 * 8 : weights_bytes(T, T);
  const std::int64_t shared = K < H ? 2 * heads * T * D * 2 : 0;
  const std::int64_t mask = use.is_masked ? square_bytes(T, T) : 0, lse = use.is_masked ? B * H * T * sum : 0;
  constexpr std::int64_t gaps = 256;  // between what lies in a workspace
  const std::int64_t backward = gaps + heads * (weights + T * sum) + shared + at_a_time.batches * mask + lse +
                                (use.in_place ? 0 : B * T * (H + 2 * K) * D * 2);
  const std::int64_t forward =
      together(B, K, 1 + mask / K).batches * mask + (use.in_place ? 0 : B * T * H * D * 2);
  return static_cast<std::size_t>(std::max({own, backward, forward}));
}

}  // namespace dt::kernels::cuda
