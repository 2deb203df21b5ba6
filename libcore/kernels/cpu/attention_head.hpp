#pragma once
// One head's share of an attention, as the vector code sees it. Legend: as kernels/attention.hpp.

#include <algorithm>
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

/// A job of the forward pass: some panels of queries that share the packing of keys and values.
template <class T>
struct ForwardJob {
  AttentionHead head;
  FirstKeys first_key;
  const T* qkv;
  T* y;
  float* lse;
  std::int64_t first;  // query
  std::int64_t panels;
};

/// One thread's scratch of the forward pass, in panels. Legend: N queries of a panel, S keys of a block, U
/// units of a row of D features.
struct ForwardScratch {
  float* queries;  // panels · U · N
  float* keys;     // S · U
  float* values;   // D · S, in units
  float* scores;   // S · N
  float* y;        // panels · D · N
  float* highest;  // panels · N: in powers of two
  float* sum;      // panels · N
  float* staging;
};

/// What some queries see of some keys, counted from the first of those, and whether some of it is masked.
struct Seen {
  std::int64_t begin, end;
  bool masked;
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

/// What `queries` from `query` on see of `keys` from `key` on, in whole granules.
inline Seen seen_keys(const AttentionHead& head, const FirstKeys& first_key, std::int64_t query,
                      std::int64_t queries, std::int64_t key, std::int64_t keys, std::int64_t granule) {
  const std::int64_t first = first_key(query), last = std::min(query + queries, head.sequence) - 1;
  const std::int64_t begin = std::max<std::int64_t>(first - key, 0), end = std::min(last + 1 - key, keys);
  if (begin >= end) return {0, 0, false};
  const std::int64_t whole_begin = round_down(begin, granule), whole_end = round_up(end, granule);
  const bool masked = key + whole_end - 1 > query || key + whole_begin < first_key(last);
  return {whole_begin, whole_end, masked};
}

}  // namespace dt::kernels::cpu
