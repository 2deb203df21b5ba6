#pragma once
// One head's share of an attention, as the vector code sees it. Legend: as kernels/attention.hpp.

#include <cstdint>

#include "kernels/attention.hpp"

namespace dt::kernels::cpu {

/// A query head and its key-value head. A packed row is `packed` elements from the next, a row of y `query`.
struct AttentionHead {
  AttentionHead(const AttentionShape& shape, std::int64_t b, std::int64_t h)
      : sequence(shape.sequence),
        head_dim(shape.head_dim),
        packed((shape.query_heads + 2 * shape.key_value_heads) * shape.head_dim),
        query(shape.query_heads * shape.head_dim),
        row(b * sequence),
        q(row * packed + h * head_dim),
        k(row * packed + query + h * shape.key_value_heads / shape.query_heads * head_dim),
        v(k + shape.key_value_heads * head_dim),
        y(row * query + h * head_dim),
        lse((b * shape.query_heads + h) * sequence) {}

  std::int64_t sequence, head_dim;
  std::int64_t packed, query;         // strides
  std::int64_t row, q, k, v, y, lse;  // offsets of the first position
};

/// first_R of a batch entry, where there is one.
class FirstKeys {
 public:
  FirstKeys(const Tensor& first_R, const AttentionHead& head)
      : first_(first_R ? first_R.data<std::int32_t>() + head.row : nullptr), last_(head.sequence - 1) {}
  /// Of the query at position t; what lies beyond the sequence is as its last query.
  std::int64_t operator()(std::int64_t t) const { return first_ ? first_[t < last_ ? t : last_] : 0; }

 private:
  const std::int32_t* first_;
  std::int64_t last_;
};

/// Rows that will be packed soon: heads lie too far apart in memory for the processor to guess the next, so
/// that they are fetched a few at a time while others are computed on.
class ComingRows {
 public:
  template <class T>
  ComingRows(const T* rows, std::int64_t row, std::int64_t count, std::int64_t width)
      : rows_(reinterpret_cast<const char*>(rows)),
        row_(row * static_cast<std::int64_t>(sizeof(T))),
        count_(count),
        width_(width * static_cast<std::int64_t>(sizeof(T))) {}

  void fetch(std::int64_t rows) {
    for (; rows > 0 && next_ < count_; --rows, ++next_) {
      const char* row = rows_ + next_ * row_;
      for (std::int64_t i = 0; i < width_; i += 64) __builtin_prefetch(row + i);
    }
  }

 private:
  const char* rows_;
  std::int64_t row_, count_, width_, next_ = 0;
};

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
inline std::int64_t round_up(std::int64_t a, std::int64_t multiple) {
  return ceil_div(a, multiple) * multiple;
}
inline std::int64_t round_down(std::int64_t a, std::int64_t multiple) {
  return a / multiple * multiple;
}

}  // namespace dt::kernels::cpu
