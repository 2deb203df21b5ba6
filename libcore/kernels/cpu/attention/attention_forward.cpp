// Flash attention's forward pass. For each block of queries, blocks of keys and values stream by,
// with a running maximum and sum. Scores are transposed, one query to a lane, so that no sum or
// maximum runs across lanes. The file also merges two parts of an attention.
// Source: Dao et al. 2022, algorithm 1; Dao 2023 for the division among threads.
//
// Legend: see attention_panels.hpp; S keys of a block; N tile_columns, the queries of a panel.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_forward.cpp"
#include "kernels/cpu/attention/attention_forward_tiles.hpp"
#include "kernels/cpu/attention/attention_panels.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr std::int64_t N = tile_columns, R = tile_rows;
constexpr std::int64_t most_panels = 16;  // panels of a job; they share packed keys and values
/// A maximum is raised only by more than this power of two, so that sums are rarely rescaled. The
/// range of fp32 permits that.
constexpr float slack = 8;

/// Sets scores that are not seen to −∞.
void mask_scores(const AttentionCall& call, const FirstKeys& first_key, std::int64_t query, std::int64_t key,
                 const VisibleKeys& seen, float* scores) {
  constexpr hn::RebindToSigned<Floats> integers;
  const V lowest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  for (std::int64_t n = 0; n < N; n += num_lanes) {
    const auto begin = first_keys(first_key, query + n, key);
    const auto last = last_keys(call, query + n, key);
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      const auto row = hn::Set(integers, static_cast<std::int32_t>(j));
      const auto unseen = hn::Or(hn::Lt(row, begin), hn::Gt(row, last));
      float* p = scores + j * N + n;
      const V score = hn::LoadU(floats, p);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(floats, unseen), lowest, score), floats, p);
    }
  }
}

/// Turns a panel of scores into weights 2^(scale · score − maximum), in units. Updates maxima, sums
/// and y.
template <class Multiply>
void weigh_panel(const VisibleKeys& seen, float scale, std::int64_t D, float* scores, float* highest,
                 float* sum, float* y) {
  const V factor = hn::Set(floats, scale);
  for (std::int64_t n = 0; n < N; n += num_lanes) {
    const V old = hn::LoadU(floats, highest + n);
    V top = hn::LoadU(floats, scores + seen.begin * N + n);
    for (std::int64_t j = seen.begin + 1; j < seen.end; ++j) {
      top = hn::Max(top, hn::LoadU(floats, scores + j * N + n));
    }
    top = hn::Mul(top, factor);
    const auto raised = hn::Gt(top, hn::Add(old, hn::Set(floats, slack)));
    V total = hn::LoadU(floats, sum + n), maximum = old;
    if (!hn::AllFalse(floats, raised)) {
      maximum = hn::IfThenElse(raised, top, old);
      const V rescale = power_of_two(hn::Sub(old, maximum));  // exactly 1 if nothing was raised
      total = hn::Mul(total, rescale);
      for (std::int64_t d = 0; d < D; ++d) {
        hn::StoreU(hn::Mul(hn::LoadU(floats, y + d * N + n), rescale), floats, y + d * N + n);
      }
      hn::StoreU(maximum, floats, highest + n);
    }
    const auto weight = [=](std::int64_t j) HWY_ATTR {
      return power_of_two(hn::MulSub(hn::LoadU(floats, scores + j * N + n), factor, maximum));
    };
    for (std::int64_t j = seen.begin; j < seen.end; j += Multiply::unit) {
      V weights = weight(j);
      total = hn::Add(total, weights);
      if constexpr (Multiply::unit == 2) {
        const V odd = weight(j + 1);
        total = hn::Add(total, odd);
        weights = join_bf16(weights, odd);
      }
      hn::StoreU(weights, floats, scores + j / Multiply::unit * N + n);
    }
    hn::StoreU(total, floats, sum + n);
  }
}

template <class Multiply, class T>
void pack_queries(const ForwardJob<T>& job, const ForwardScratch& scratch, std::int64_t queries) {
  const AttentionHead<T>& head = job.head;
  pack_features<Multiply, N>(head.q(job.first), head.q.stride, queries, head.head_dim, scratch.queries,
                             scratch.staging);
}

/// Packs a block of keys and values.
template <class Multiply, class T>
void pack_keys(const ForwardJob<T>& job, const ForwardScratch& scratch, std::int64_t key) {
  const AttentionHead<T>& head = job.head;
  const std::int64_t D = head.head_dim, keys = HWY_MIN(Multiply::S, job.call.keys - key);
  pack_features<Multiply, R>(head.k(key), head.k.stride, keys, D, scratch.keys, scratch.staging);
  pack_positions<Multiply, R>(head.v(key), head.v.stride, keys, Multiply::S, D, scratch.values);
}

/// Adds the contribution of a block of keys to a panel of queries.
template <class Multiply, class T>
void attend_panel(const ForwardJob<T>& job, const ForwardScratch& scratch, std::int64_t key,
                  std::int64_t panel) {
  constexpr std::int64_t unit = Multiply::unit;
  const std::int64_t D = job.head.head_dim, U = feature_units<Multiply>(D), query = job.first + panel * N;
  const VisibleKeys seen = visible_keys(job.call, job.first_key, query, N, key, Multiply::S, R);
  if (seen.begin == seen.end) return;
  multiply_panels<Multiply>(seen.end - seen.begin, ceil_div(D, unit), scratch.keys + seen.begin * U, U,
                            scratch.queries + panel * U * N, scratch.scores + seen.begin * N, N, false);
  const AttentionShape& shape = job.call.shape;
  if (job.largest)
    raise_largest(job.call, job.first_key, query, key + seen.begin, seen.end - seen.begin, seen.masked,
                  scratch.scores + seen.begin * N, job.largest);
  if (shape.scores.softcap != 0) {
    take_tanh((seen.end - seen.begin) * N, tanh_factor(shape), scratch.scores + seen.begin * N);
  }
  if (seen.masked) mask_scores(job.call, job.first_key, query, key, seen, scratch.scores);
  float* y = scratch.y + panel * padded_features<R>(D) * N;
  weigh_panel<Multiply>(seen, power_factor(shape), D, scratch.scores, scratch.highest + panel * N,
                        scratch.sum + panel * N, y);
  multiply_panels<Multiply>(D, (seen.end - seen.begin) / unit, scratch.values + seen.begin / unit * R,
                            Multiply::S / unit, scratch.scores + seen.begin / unit * N, y, N, true);
}

template <class Multiply, class T>
void attend_block(const ForwardJob<T>& job, const ForwardScratch& scratch, std::int64_t key) {
  const AttentionHead<T>& head = job.head;
  const std::int64_t next = key + Multiply::S,
                     coming = HWY_MAX(HWY_MIN(Multiply::S, job.call.keys - next), 0);
  RowPrefetcher coming_keys(head.k, next, coming, head.head_dim);
  RowPrefetcher coming_values(head.v, next, coming, head.head_dim);
  pack_keys<Multiply>(job, scratch, key);
  for (std::int64_t panel = 0; panel < job.panels; ++panel) {
    coming_keys.fetch(ceil_div(Multiply::S, job.panels));
    coming_values.fetch(ceil_div(Multiply::S, job.panels));
    attend_panel<Multiply>(job, scratch, key, panel);
  }
}

/// Divides a panel of y by its sums, unless they are 0, and writes it with its lse.
template <class T>
void finish_panel(const ForwardJob<T>& job, const ForwardScratch& scratch, std::int64_t panel) {
  const std::int64_t D = job.head.head_dim, features = padded_features<R>(D);
  const std::int64_t query = job.first + panel * N, rows = HWY_MIN(N, job.call.queries - query);
  float* y = scratch.y + panel * features * N;
  const float* sum = scratch.sum + panel * N;
  for (std::int64_t n = 0; n < N; n += num_lanes) {
    const V total = hn::LoadU(floats, sum + n);
    const V factor =
        hn::IfThenZeroElse(hn::Eq(total, hn::Zero(floats)), hn::Div(hn::Set(floats, 1.0f), total));
    for (std::int64_t d = 0; d < D; ++d) {
      hn::StoreU(hn::Mul(hn::LoadU(floats, y + d * N + n), factor), floats, y + d * N + n);
    }
  }
  unpack_positions(y, rows, D, job.y.from(query), scratch.staging);
  for (std::int64_t i = 0; i < rows; ++i) {
    job.lse[job.head.lse + query + i] = scratch.highest[panel * N + i] * std::log(2.0f) + std::log(sum[i]);
  }
}

template <class Multiply, class T>
void attend(ForwardJob<T> job, const ForwardScratch& scratch) {
  const std::int64_t D = job.head.head_dim;
  const std::int64_t queries = HWY_MIN(job.panels * N, job.call.queries - job.first);
  job.panels = ceil_div(queries, N);
  pack_queries<Multiply>(job, scratch, queries);
  std::memset(scratch.y, 0, static_cast<std::size_t>(job.panels * padded_features<R>(D) * N) * sizeof(float));
  for (std::int64_t i = 0; i < job.panels * N; ++i) {
    scratch.highest[i] = -1e30f;  // finite, so that a row that has seen nothing yet makes no NaN
    scratch.sum[i] = 0;
  }
  const std::int64_t begin = round_down(job.first_key(job.first), Multiply::S);
  const std::int64_t last = job.call.last_key(job.first + queries - 1);
  for (std::int64_t key = begin; key <= last; key += Multiply::S) {
    attend_block<Multiply>(job, scratch, key);
  }
  for (std::int64_t panel = 0; panel < job.panels; ++panel) finish_panel(job, scratch, panel);
}

/// Raises a head's largest score. Several threads may do so at the same time.
inline void raise(float score, float& largest) {
  const std::atomic_ref<float> shared(largest);
  float before = shared.load(std::memory_order_relaxed);
  while (score > before && !shared.compare_exchange_weak(before, score, std::memory_order_relaxed)) continue;
}

template <class Multiply, class T>
void attention_of(const Context& context, const AttentionCall& call, const Tensor& y_RQ,
                  const Tensor& lse_BHT, const Tensor& max_scores_H) {
  const AttentionShape& shape = call.shape;
  const std::int64_t D = shape.head_dim, U = feature_units<Multiply>(D), features = padded_features<R>(D);
  const std::int64_t heads = shape.batch * shape.query_heads;
  std::int64_t panels = most_panels;
  while (panels > 1 && heads * ceil_div(shape.sequence, panels * N) < 4 * context.threads()) panels /= 2;
  const std::int64_t blocks = ceil_div(shape.sequence, panels * N);
  const std::int64_t staging = N * HWY_MAX(U, round_up(D, 4));
  const std::int64_t thread_floats =
      round_up(panels * N * (U + features + 2) + Multiply::S * (U + features + N) + staging, 16);
  const Arena::Scope scope(context.scratch());
  float* memory = context.scratch().allocate(DType::f32, {context.threads(), thread_floats}).data<float>();
  float* lse = lse_BHT.data<float>();
  for_jobs(context, blocks * heads, [&](std::int64_t number, int thread) {
    float* next = memory + thread * thread_floats;
    const auto take = [&](std::int64_t count) { return std::exchange(next, next + count); };
    const ForwardScratch scratch{.queries = take(panels * N * U),
                                 .keys = take(Multiply::S * U),
                                 .values = take(Multiply::S * features),
                                 .scores = take(Multiply::S * N),
                                 .y = take(panels * N * features),
                                 .highest = take(panels * N),
                                 .sum = take(panels * N),
                                 .staging = take(staging)};
    // The last queries see the most keys, so that the longest jobs come first.
    const std::int64_t first = blocks - 1 - number / heads;
    const std::int64_t b = number % heads / shape.query_heads, h = number % shape.query_heads;
    const AttentionHead<T> head(call, b, h);
    [[maybe_unused]] const typename Multiply::OnThread on_thread{};
    float products[num_lanes];
    std::fill_n(products, num_lanes, -std::numeric_limits<float>::infinity());
    attend<Multiply, T>({call, head, FirstKeys(call, b), output_rows<T>({y_RQ}, head.row, head.column, false),
                         lse, first * panels * N, panels, max_scores_H ? products : nullptr},
                        scratch);
    if (max_scores_H)
      raise(score_scale<float>(shape) * *std::max_element(products, products + num_lanes),
            max_scores_H.data<float>()[h]);
  });
}

void attention(const Context& context, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
               const Tensor& max_scores_H) {
  const AttentionCall call(shape, visibility, qkv);
  with_arithmetic(context, qkv.q.rows_RS.dtype(), [&](auto multiply, auto element) {
    attention_of<decltype(multiply), decltype(element)>(context, call, y_RQ, lse_BHT, max_scores_H);
  });
}

/// The factors of both parts' y, and the lse of the whole.
struct MergeWeights {
  float a, b, lse;
};
inline MergeWeights merge_weights(float lse_a, float lse_b) {
  const float highest = std::max(lse_a, lse_b);
  if (highest == -std::numeric_limits<float>::infinity()) return {0, 0, highest};
  const float a = std::exp(lse_a - highest), b = std::exp(lse_b - highest), sum = a + b;
  return {a / sum, b / sum, highest + std::log(sum)};
}

template <class T>
void merge_head(const MergeWeights& weights, const float* a, const float* b, std::int64_t D, T* y) {
  const V weight_a = hn::Set(floats, weights.a), weight_b = hn::Set(floats, weights.b);
  for_lanes(D, [=](std::int64_t d, auto lanes) HWY_ATTR {
    const V of_b = hn::Mul(weight_b, load(lanes, b + d));
    store(lanes, hn::MulAdd(weight_a, load(lanes, a + d), of_b), y + d);
  });
}

void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  const std::int64_t H = shape.query_heads, T = shape.sequence, D = shape.head_dim;
  with_elements(to.y_RQ.dtype(), [&](auto element) {
    auto* y = to.y_RQ.data<decltype(element)>();
    const float *y_a = a.y_RQ.data<float>(), *y_b = b.y_RQ.data<float>();
    const float *lse_a = a.lse_BHT.data<float>(), *lse_b = b.lse_BHT.data<float>();
    float* lse_to = to.lse_BHT.data<float>();
    for_ranges(context, shape.batch * T, H * D, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * H; i < end * H; ++i) {
        const std::int64_t r = i / H, at = (r / T * H + i % H) * T + r % T;
        const MergeWeights weights = merge_weights(lse_a[at], lse_b[at]);
        merge_head(weights, y_a + i * D, y_b + i * D, D, y + i * D);
        lse_to[at] = weights.lse;
      }
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(attention);
HWY_EXPORT(merge_attention);

void attention(const Context& context, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
               const Tensor& max_scores_H) {
  HWY_DYNAMIC_DISPATCH(attention)(context, shape, visibility, qkv, y_RQ, lse_BHT, max_scores_H);
}

void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  HWY_DYNAMIC_DISPATCH(merge_attention)(context, shape, a, b, to);
}

}  // namespace dt::kernels::cpu
#endif
