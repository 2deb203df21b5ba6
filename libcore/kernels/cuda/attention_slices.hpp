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

/// A 16-bit value for each query and key, as masks and weights' gradients are.
inline std::int64_t square_bytes(std::int64_t Tq, std::int64_t Tk) {
  return 2 * Tq * Tk;
}

/// Scratch memory of the backward pass in bytes, about, where Tk is Tq: of a library's kernels the weights'
/// gradients in whole tiles, the mask, sums of rows, what query heads that share keys give these, and, unless
/// they are written where they belong (`in_place`), gradients in rows of their own.
inline std::size_t attention_scratch_bytes(const AttentionShape& s, DType dtype, bool in_place) {
  const std::int64_t B = s.batch, H = s.query_heads, K = s.key_value_heads, T = s.sequence, D = s.head_dim;
  const auto sum = static_cast<std::int64_t>(dtype_bytes(statistics_dtype(dtype)));
  const std::int64_t own = B * T * H * (D + 1) * sum;
  if (dtype_bytes(dtype) != 2 || D % 8 != 0) return static_cast<std::size_t>(own);
  const auto [batches, groups] = together(B, K, H / K * square_bytes(T, T));
  const std::int64_t heads = batches * groups * (H / K), tiles = (T + 127) / 128 * 128;
  const std::int64_t shared = K < H ? 2 * heads * T * D * 2 : 0;
  const std::int64_t library = heads * (square_bytes(tiles, tiles) + T * sum) + shared +
                               batches * square_bytes(T, T) + (in_place ? 0 : B * T * (H + 2 * K) * D * 2);
  const std::int64_t masks =
      together(B, K, 1 + square_bytes(T, T) / K).batches * square_bytes(T, T);  // forward
  return static_cast<std::size_t>(std::max({own, library, masks}));
}

}  // namespace dt::kernels::cuda
