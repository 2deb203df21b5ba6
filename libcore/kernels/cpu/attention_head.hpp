#pragma once
// One head's share of an attention, as the vector code sees it. Legend: as kernels/attention.hpp.

#include <cstdint>

#include "kernels/attention.hpp"

namespace dt::kernels::cpu {

/// Queries and keys are taken in blocks of this many, so that scores are never held for more than block ×
/// block.
inline constexpr std::int64_t attention_block = 64;

/// The head dim as stored in scratch: whole vectors of every instruction set, filled up with zeros.
inline std::int64_t padded_dim(std::int64_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

/// A query head and its key-value head. A packed row is `packed` floats from the next, a row of y `query`
/// floats.
struct AttentionHead {
  AttentionHead(const AttentionShape& shape, std::int64_t b, std::int64_t h)
      : sequence(shape.sequence),
        head_dim(shape.head_dim),
        packed((shape.query_heads + 2 * shape.key_value_heads) * shape.head_dim),
        query(shape.query_heads * shape.head_dim),
        q(b * sequence * packed + h * head_dim),
        k(b * sequence * packed + query + key_value_head(shape, h) * head_dim),
        v(k + shape.key_value_heads * head_dim),
        y(b * sequence * query + h * head_dim),
        lse((b * shape.query_heads + h) * sequence) {}

  static std::int64_t key_value_head(const AttentionShape& shape, std::int64_t h) {
    return h * shape.key_value_heads / shape.query_heads;
  }

  std::int64_t sequence, head_dim;
  std::int64_t packed, query;    // strides
  std::int64_t q, k, v, y, lse;  // offsets of the first position
};

}  // namespace dt::kernels::cpu
