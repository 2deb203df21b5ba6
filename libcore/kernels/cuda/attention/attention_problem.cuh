#pragma once
// Describes a call to attention's kernels.
// Legend: as kernels/attention.hpp.

#include "base/numeric/integer.hpp"
#include "kernels/attention.hpp"
#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/code.cuh"

namespace dt::kernels::cuda {

/// Each warp computes one query or one key of a head; a block has a few warps.
inline constexpr unsigned attention_warps = 4;

struct AttentionProblem {
  std::int64_t B, H, K, Tq, Tk, D;
  std::int64_t query_position, key_position;
  const std::int32_t* first_R;  // null: 0 throughout
  ScoreTransform scores;

  AttentionProblem(const AttentionShape& shape, const Visibility& visibility, std::int64_t key_rows)
      : B(shape.batch),
        H(shape.query_heads),
        K(shape.key_value_heads),
        Tq(shape.sequence),
        Tk(key_rows / shape.batch),
        D(shape.head_dim),
        query_position(visibility.query_position),
        key_position(visibility.key_position),
        first_R(elements<std::int32_t>(visibility.first_R)),
        scores(shape.scores) {}

  __device__ std::int64_t first(std::int64_t b, std::int64_t t) const {
    return first_R == nullptr ? 0 : first_R[b * Tq + t];
  }
};

/// The scores of products q·k. Kernels are compiled for each, so that those without a cap do not pay
/// for it.
template <class V, bool CAPPED>
struct Scores {
  V scale, cap;
  __device__ explicit Scores(const AttentionProblem& p)
      : scale(p.scores.scale == 0 ? 1 / sqrt(static_cast<V>(p.D)) : static_cast<V>(p.scores.scale)),
        cap(static_cast<V>(p.scores.softcap)) {}
  __device__ V of(V product) const {
    if constexpr (CAPPED) return cap * tanh(scale * product / cap);
    return scale * product;
  }
  /// Returns a gradient of a score, multiplied by the score's derivative by its product.
  __device__ V through(V dscore, V score) const {
    if constexpr (CAPPED) return dscore * (1 - score / cap * (score / cap)) * scale;
    return dscore * scale;
  }
};

/// Calls body(std::bool_constant<CAPPED>()).
template <class Body>
void with_cap(const AttentionShape& shape, const Body& body) {
  shape.scores.softcap == 0 ? body(std::false_type()) : body(std::true_type());
}

/// A range [begin, end) of a call's keys or queries; empty if end is not beyond begin.
struct Range {
  std::int64_t begin, end;
};

/// Returns the keys that query t sees.
__device__ inline Range visible_keys(const AttentionProblem& p, std::int64_t b, std::int64_t t) {
  const std::int64_t begin = p.first(b, t) - p.key_position, end = p.query_position + t - p.key_position + 1;
  return {begin > 0 ? begin : 0, end < p.Tk ? end : p.Tk};
}

/// Returns the queries that see key s. `first` is nondecreasing along a sequence.
__device__ inline Range visible_queries(const AttentionProblem& p, std::int64_t b, std::int64_t s) {
  const std::int64_t position = s + p.key_position, begin = position - p.query_position;
  std::int64_t low = begin > 0 ? begin : 0, high = p.Tq;
  const std::int64_t from = low;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (p.first(b, middle) <= position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {from, low};
}

/// A head's rows: row i of sequence b has D elements.
template <class T>
struct HeadRows {
  T* elements;
  std::int64_t stride, rows;  // elements between rows, and rows of a sequence

  HeadRows(const Columns& columns, std::int64_t batch)
      : elements(columns.rows_RS.data<std::remove_const_t<T>>() + columns.first),
        stride(columns.rows_RS.dim(1)),
        rows(columns.rows_RS.dim(0) / batch) {}
  __device__ T* row(std::int64_t b, std::int64_t i, std::int64_t head, std::int64_t D) const {
    return elements + (b * rows + i) * stride + head * D;
  }
};

/// The sequence, the head, and its query or key that a warp computes. The last varies fastest.
struct WarpTask {
  std::int64_t b, h, i;
};
__device__ inline std::int64_t warp_index() {
  return static_cast<std::int64_t>(blockIdx.x) * attention_warps + threadIdx.x / warp_size;
}
__device__ inline WarpTask warp_task(std::int64_t index, std::int64_t heads, std::int64_t length) {
  return {index / (heads * length), index / length % heads, index % length};
}

/// Returns the warp's own values in the block's shared memory, where each warp has `each` values.
template <class V>
__device__ V* of_warp(std::int64_t each) {
  return reinterpret_cast<V*>(shared_bytes()) + threadIdx.x / warp_size * each;
}
/// Returns a grid with a warp for each of `places`, each with `values` of memory.
/// Errors: internal, the values do not fit a block's shared memory.
template <class V>
Grid grid_of_warps(std::int64_t places, std::int64_t values) {
  constexpr std::size_t most_bytes = 48 << 10;
  const Grid grid{.blocks = static_cast<unsigned>(ceil_div(places, attention_warps)),
                  .threads = attention_warps * warp_size,
                  .shared_bytes = attention_warps * static_cast<std::size_t>(values) * sizeof(V)};
  DT_CHECK(grid.shared_bytes <= most_bytes, "attention: a head is too wide: {} bytes of a block's memory",
           grid.shared_bytes);
  return grid;
}

/// Copies a row's values into the warp's memory. Its readers must synchronize first.
template <class V, class T>
__device__ void keep(const T* row, std::int64_t D, V* values) {
  for (std::int64_t d = threadIdx.x % warp_size; d < D; d += warp_size) values[d] = load(row + d);
}

template <class V, class T>
__device__ V dot(const V* values, const T* row, std::int64_t D) {
  V sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += values[d] * load(row + d);
  return sum;
}

/// Stores a gradient, or adds it to what is there, in its own dtype.
template <class G, class V>
__device__ void put(G* row, V value, bool add) {
  *row = G(add ? load(row) + value : value);
}

/// Stores or adds `width` columns of rows in those of others.
template <class S, class G>
__global__ void put_rows(HeadRows<const S> from, HeadRows<G> to, std::int64_t rows, std::int64_t width,
                         bool add) {
  for (std::int64_t i = first_element(); i < rows * width; i += element_stride())
    put(to.elements + i / width * to.stride + i % width,
        load(from.elements + i / width * from.stride + i % width), add);
}

/// Calls body(G()) with the gradient's type: the inputs' or that of sums.
template <class T, class Body>
void with_gradients(const Columns& gradient, const Body& body) {
  gradient.rows_RS.dtype() == dtype_of<T>() ? body(T()) : body(Value<T>());
}

}  // namespace dt::kernels::cuda
