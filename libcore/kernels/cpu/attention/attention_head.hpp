#pragma once
// One head's part of an attention, for the vector code.
// Legend: see kernels/attention.hpp.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/numeric/integer.hpp"
#include "kernels/attention.hpp"

namespace dt::kernels::cpu {

/// The rows of one head in a sequence, D elements each.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t stride;
  T* operator()(std::int64_t i) const { return first + i * stride; }
};
/// Returns the rows from a row on, and from a column of the range on.
template <class T>
HeadRows<T> head_rows(const Columns& columns, std::int64_t row, std::int64_t column) {
  const std::int64_t S = columns.rows_RS.dim(1);
  return {columns.rows_RS.data<std::remove_const_t<T>>() + row * S + columns.first + column, S};
}

/// The target rows of results: 16-bit rows, or wide rows, to which results may be added.
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

/// The operands of a call. Keys are counted from the call's first key.
struct AttentionCall {
  AttentionCall(const AttentionShape& shape, const Visibility& visibility, const QueriesKeysValues& qkv)
      : shape(shape),
        visibility(visibility),
        qkv(qkv),
        queries(shape.sequence),
        keys(qkv.k.rows_RS.dim(0) / shape.batch),
        offset(visibility.query_position - visibility.key_position) {}
  /// Returns the last key that query t of a sequence sees. If it is before the first such key, t
  /// sees none.
  std::int64_t last_key(std::int64_t t) const { return std::min(offset + t, keys - 1); }

  AttentionShape shape;
  Visibility visibility;
  QueriesKeysValues qkv;
  std::int64_t queries, keys;  // per sequence
  std::int64_t offset;         // query t is at the position of key offset + t
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
  std::int64_t row, column;        // the first query's, in a tensor of query heads only
  std::int64_t kv_row, kv_column;  // the first key's, in a tensor of key-value heads only
  std::int64_t lse;                // index of the first query
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
  /// Returns the first key of query t. Indices beyond the queries get that of the last query.
  std::int64_t operator()(std::int64_t t) const {
    return first_ ? std::max<std::int64_t>(first_[t < last_ ? t : last_] - key_position_, 0) : 0;
  }
  /// Returns the positions of `count` queries from t on, or null if first_R is absent or has fewer.
  const std::int32_t* positions(std::int64_t t, std::int64_t count) const {
    return first_ && t + count <= last_ + 1 ? first_ + t : nullptr;
  }
  std::int64_t key_position() const { return key_position_; }

 private:
  const std::int32_t* first_;
  std::int64_t last_, key_position_;
};

/// A prefetch of rows that will be packed soon. Heads are too far apart in memory for the processor
/// to predict the next one. So a few rows at a time are fetched while others are computed.
class RowPrefetcher {
 public:
  template <class T>
  RowPrefetcher(const HeadRows<T>& rows, std::int64_t first, std::int64_t count, std::int64_t width)
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

/// A job of the forward pass: some panels of queries, which share the packing of keys and values.
template <class T>
struct ForwardJob {
  const AttentionCall& call;
  AttentionHead<T> head;
  FirstKeys first_key;
  OutputRows<T> y;
  float* lse;
  std::int64_t first;  // index of the first query
  std::int64_t panels;
  float* largest;  // num_lanes running maxima of visible products; null if not wanted
};

/// One thread's scratch of the forward pass, in panels.
/// Legend: N queries of a panel, S keys of a block, U units of a row of D features.
struct ForwardScratch {
  float* queries;  // panels · U · N
  float* keys;     // S · U
  float* values;   // D · S, in units
  float* scores;   // S · N
  float* y;        // panels · D · N
  float* highest;  // panels · N, as powers of two
  float* sum;      // panels · N
  float* staging;
};

/// The keys that some queries see, counted from the first of the given keys. `masked` says that
/// some queries do not see all of them.
struct VisibleKeys {
  std::int64_t begin, end;
  bool masked;
};

/// Returns what `queries` queries from `query` on see of `keys` keys from `key` on, in whole
/// granules.
inline VisibleKeys visible_keys(const AttentionCall& call, const FirstKeys& first_key, std::int64_t query,
                                std::int64_t queries, std::int64_t key, std::int64_t keys,
                                std::int64_t granule) {
  const std::int64_t first = first_key(query), last = std::min(query + queries, call.queries) - 1;
  const std::int64_t begin = std::max<std::int64_t>(first - key, 0),
                     end = std::min(call.last_key(last) + 1 - key, keys);
  if (begin >= end) return {0, 0, false};
  const std::int64_t whole_begin = round_down(begin, granule), whole_end = round_up(end, granule);
  const bool masked = key + whole_end - 1 > call.last_key(query) || key + whole_begin < first_key(last);
  return {whole_begin, whole_end, masked};
}

}  // namespace dt::kernels::cpu
