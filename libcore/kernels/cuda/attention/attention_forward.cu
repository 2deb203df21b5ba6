// Computes attention for dtypes, head sizes and masks that cuDNN has no kernel for. Each warp
// computes one query of a head, over the keys that the query sees, 32 at a time. Each lane first
// computes a key's score, then some features of the sum. Also merges two parts of an attention, and
// finds the first keys that queries see.
// Legend: as kernels/attention.hpp.
// Source: Dao et al. 2022, algorithm 1 (online softmax).

#include "kernels/attention.hpp"
#include "kernels/cuda/attention/attention_by_library.hpp"
#include "kernels/cuda/attention/attention_problem.cuh"
#include "kernels/cuda/launch/code.cuh"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

template <class T, class Y, bool CAPPED>
__global__ void attend(AttentionProblem p, HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v,
                       HeadRows<Y> y, Value<T>* lse_BHT) {
  using V = Value<T>;
  const std::int64_t index = warp_index(), lane = threadIdx.x % warp_size;
  if (index >= p.B * p.H * p.Tq) return;
  const WarpTask at = warp_task(index, p.H, p.Tq);
  const std::int64_t group = at.h * p.K / p.H;
  V* const query = of_warp<V>(2 * p.D + warp_size);
  V *const sums = query + p.D, *const weights = sums + p.D;
  keep(q.row(at.b, at.i, at.h, p.D), p.D, query);
  for (std::int64_t d = lane; d < p.D; d += warp_size) sums[d] = 0;
  __syncwarp();

  const Scores<V, CAPPED> scores(p);
  V highest = -INFINITY, sum = 0;
  const Range seen = visible_keys(p, at.b, at.i);
  for (std::int64_t begin = seen.begin; begin < seen.end; begin += warp_size) {
    const std::int64_t end = begin + warp_size < seen.end ? begin + warp_size : seen.end, s = begin + lane;
    const V score = s < end ? scores.of(dot(query, k.row(at.b, s, group, p.D), p.D)) : -INFINITY;
    const V before = highest;
    highest = fmax(highest, warp_max(score));
    const V weight = s < end ? exp(score - highest) : V(0), kept = exp(before - highest);
    sum = sum * kept + warp_sum(weight);
    weights[lane] = weight;
    __syncwarp();
    for (std::int64_t d = lane; d < p.D; d += warp_size) {
      V mean = sums[d] * kept;
      for (std::int64_t j = begin; j < end; ++j)
        mean += weights[j - begin] * load(v.row(at.b, j, group, p.D) + d);
      sums[d] = mean;
    }
    __syncwarp();
  }
  const bool sees_any = seen.begin < seen.end;
  Y* const out = y.row(at.b, at.i, at.h, p.D);
  for (std::int64_t d = lane; d < p.D; d += warp_size) out[d] = Y(sees_any ? sums[d] / sum : V(0));
  if (lane == 0) lse_BHT[index] = highest + log(sum);
}

template <class V, class Y>
__global__ void merge(AttentionProblem p, const V* y_a, const V* lse_a, const V* y_b, const V* lse_b, Y* y,
                      V* lse) {
  const std::int64_t index = warp_index(), lane = threadIdx.x % warp_size;
  if (index >= p.B * p.H * p.Tq) return;
  const WarpTask at = warp_task(index, p.H, p.Tq);
  const V a = lse_a[index], b = lse_b[index], highest = fmax(a, b);
  const bool has_seen = highest != V(-INFINITY);
  const V weight_a = has_seen ? exp(a - highest) : V(0), weight_b = has_seen ? exp(b - highest) : V(0);
  const V sum = has_seen ? weight_a + weight_b : V(1);
  __syncwarp();  // `lse` may alias either part's
  const std::int64_t row = ((at.b * p.Tq + at.i) * p.H + at.h) * p.D;
  for (std::int64_t d = row + lane; d < row + p.D; d += warp_size)
    y[d] = Y((weight_a * y_a[d] + weight_b * y_b[d]) / sum);
  if (lane == 0) lse[index] = highest + log(sum);
}

/// Sets the first key that each query sees: of its window and of its document.
__global__ void find_first(std::int64_t rows, std::int64_t sequence, std::int64_t position,
                           std::int64_t window, const std::int32_t* starts_R, std::int32_t* first_R) {
  for (std::int64_t r = first_element(); r < rows; r += element_stride()) {
    const std::int64_t first = position + r % sequence - window + 1;
    const std::int64_t start = starts_R != nullptr ? starts_R[r] : 0;
    first_R[r] = static_cast<std::int32_t>(first > start ? first : start);
  }
}

}  // namespace

void attention(const Context& context, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT, const Tensor&) {
  if (attention_by_library(context, shape, visibility, qkv, y_RQ, lse_BHT)) return;
  const AttentionProblem p(shape, visibility, qkv.k.rows_RS.dim(0));
  with_elements(qkv.q.rows_RS.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const auto start = [&](auto output) {
      using Y = decltype(output);
      with_cap(shape, [&](auto capped) {
        launch(context, "attention", grid_of_warps<V>(p.B * p.H * p.Tq, 2 * p.D + warp_size),
               attend<T, Y, decltype(capped)::value>, p, HeadRows<const T>(qkv.q, p.B),
               HeadRows<const T>(qkv.k, p.B), HeadRows<const T>(qkv.v, p.B), HeadRows<Y>({y_RQ}, p.B),
               lse_BHT.data<V>());
      });
    };
    y_RQ.dtype() == dtype_of<T>() ? start(T()) : start(V());
  });
}

void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  const AttentionProblem p(shape, {}, shape.batch);
  with_elements(to.y_RQ.dtype(), [&](auto element) {
    using Y = decltype(element);
    using V = Value<Y>;
    launch(context, "merge_attention", grid_of_warps<V>(p.B * p.H * p.Tq, 0), merge<V, Y>, p,
           a.y_RQ.data<V>(), a.lse_BHT.data<V>(), b.y_RQ.data<V>(), b.lse_BHT.data<V>(), to.y_RQ.data<Y>(),
           to.lse_BHT.data<V>());
  });
}

void first_visible(const Context& context, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R) {
  const std::int64_t rows = first_R.dim(0);
  launch(context, "first_visible", grid_for(rows), find_first, rows, sequence, position, window,
         elements<std::int32_t>(starts_R), first_R.data<std::int32_t>());
}

}  // namespace dt::kernels::cuda
