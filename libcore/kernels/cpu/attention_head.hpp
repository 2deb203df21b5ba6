#pragma once
// One head's share of an attention, as the vector code sees it. Legend: as kernels/attention.hpp.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/attention.hpp"

namespace dt::kernels::cpu {

/// Rows of one head, of a sequence: D elements each.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t stride;
  T* operator()(std::int64_t i) const { return first + i * stride; }
};
/// Those from a row on, and from a column of the range on.
template <class T>
HeadRows<T> head_rows(const Columns& columns, std::int64_t row, std::int64_t column) {
  const std::int64_t S = columns.rows_RS.dim(1);
  return {columns.rows_RS.data<std::remove_const_t<T>>() + row * S + columns.first + column, S};
}

/// Rows that results go to: of 16 bits, or wide, to which they may be added.
template <class T>
struct OutputRows {
  HeadRows<T> rows;
  HeadRows<float> wide_rows;
  bool add;
  OutputRows from(std::int64_t i) const {
    OutputRows rest = *this;
    if (rows.first) rest.rows.first = rows(i);
    if (wide_rows.first) rest.wide_rows.first = wide_rows(i);
    return rest;
  }
};
template <class T>
OutputRows<T> output_rows(const Columns& columns, std::int64_t row, std::int64_t column, bool add) {
  if (columns.rows_RS.dtype() == DType::f32) return {{}, head_rows<float>(columns, row, column), add};
  return {head_rows<T>(columns, row, column), {}, false};
}

/// What a call attends to. Its keys are counted from their first.
struct AttentionCall {
  AttentionCall(const AttentionShape& shape, const Visibility& visibility, const QueriesKeysValues& qkv)
      : shape(shape),
        visibility(visibility),
        qkv(qkv),
        queries(shape.sequence),
        keys(qkv.k.rows_RS.dim(0) / shape.batch),
        offset(visibility.query_position - visibility.key_position) {}
  /// The last key that query t of a sequence sees; none where it lies before the first that it sees.
  std::int64_t last_key(std::int64_t t) const { return std::min(offset + t, keys - 1); }

  AttentionShape shape;
  Visibility visibility;
  QueriesKeysValues qkv;
  std::int64_t queries, keys;  // of a sequence
  std::int64_t offset;         // query t stands where key offset + t does
};

/// A query head and its key-value head.
template <class T>
struct AttentionHead {
  AttentionHead(const AttentionCall& call, std::int64_t b, std::int64_t h)
      : head_dim(call.shape.head_dim),
        row(b * call.queries),
        column(h * head_dim),
        kv_row(b * call.keys),
        kv_column(h * call.shape.key_value_heads / call.shape.query_heads * head_dim),
        lse((b * call.shape.query_heads + h) * call.queries),
        q(head_rows<const T>(call.qkv.q, row, column)),
        k(head_rows<const T>(call.qkv.k, kv_row, kv_column)),
        v(head_rows<const T>(call.qkv.v, kv_row, kv_column)) {}

  std::int64_t head_dim;
  std::int64_t row, column;        // of the first query, in whatever holds all query heads alone
  std::int64_t kv_row, kv_column;  // of the first key, likewise
  std::int64_t lse;                // of the first query
  HeadRows<const T> q, k, v;
};

/// The first keys that queries of a sequence see.
class FirstKeys {
 public:
  FirstKeys(const AttentionCall& call, std::int64_t b)
      : first_(nullptr), last_(call.queries - 1), key_position_(call.visibility.key_position) {
    const Tensor& first_R = call.visibility.first_R;
    if (first_R) first_ = first_R.data<std::int32_t>() + b * call.queries;
  }
  /// Of query t; what lies beyond the queries is as the last.
  std::int64_t operator()(std::int64_t t) const {
    return first_ ? std::max<std::int64_t>(first_[t < last_ ? t : last_] - key_position_, 0) : 0;
  }
  /// Positions of `count` queries from t on, where there are as many and any is told.
  const std::int32_t* positions(std::int64_t t, std::int64_t count) const {
    return first_ && t + count <= last_ + 1 ? first_ + t : nullptr;
  }
  std::int64_t key_position() const { return key_position_; }

 private:
  const std::int32_t* first_;
  std::int64_t last_, key_position_;
};

/// Rows that will be packed soon: heads lie too far apart in memory for the processor to guess the next, so
/// that they are fetched a few at a time while others are computed on.
class ComingRows {
 public:
  template <class T>
  ComingRows(const HeadRows<T>& rows, std::int64_t first, std::int64_t count, std::int64_t width)
      : rows_(reinterpret_cast<const char*>(rows(first))),
        row_(rows.stride * static_cast<std::int64_t>(sizeof(T))),
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
  const AttentionCall& call;
  AttentionHead<T> head;
  FirstKeys first_key;
  OutputRows<T> y;
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
inline Seen seen_keys(const AttentionCall& call, const FirstKeys& first_key, std::int64_t query,
                      std::int64_t queries, std::int64_t key, std::int64_t keys, std::int64_t granule) {
  const std::int64_t first = first_key(query), last = std::min(query + queries, call.queries) - 1;
  const std::int64_t begin = std::max<std::int64_t>(first - key, 0),
                     end = std::min(call.last_key(last) + 1 - key, keys);
  if (begin >= end) return {0, 0, false};
  const std::int64_t whole_begin = round_down(begin, granule), whole_end = round_up(end, granule);
  const bool masked = key + whole_end - 1 > call.last_key(query) || key + whole_begin < first_key(last);
  return {whole_begin, whole_end, masked};
}

}  // namespace dt::kernels::cpu
