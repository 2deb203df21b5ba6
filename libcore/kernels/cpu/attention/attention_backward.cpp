// Flash attention's backward pass. For each chunk of keys, blocks of queries stream by, and their
// softmax is recomputed from lse. The gradients of keys and values stay with the chunk. Those of
// queries are summed in fp32, chunk after chunk in the order of keys, on any threads. All gradients
// may alias their inputs. Only the chunk reads its keys and values. The last of the chunks that a
// block of queries sees takes its turn after all others have packed the block.
// Source: Dao et al. 2022, algorithm 4.
//
// Legend: see attention_backward.hpp.
#include <atomic>
#include <cmath>
#include <thread>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_backward.cpp"
#include "kernels/cpu/attention/attention_backward.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Computes Σ over d of dy · y for each row and head.
template <class T>
void dot_outputs(const Backward<T>& g, const T* y_RQ) {
  const AttentionShape& s = g.call.shape;
  const T* dy_RQ = g.dy_RQ.template data<T>();
  for_ranges(g.context, s.batch * s.sequence, s.query_heads * s.head_dim,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t r = begin; r < end; ++r) {
                 const std::int64_t b = r / s.sequence, t = r % s.sequence;
                 for (std::int64_t h = 0; h < s.query_heads; ++h) {
                   const T* dy = dy_RQ + (r * s.query_heads + h) * s.head_dim;
                   const T* y = y_RQ + (r * s.query_heads + h) * s.head_dim;
                   float totals[1];
                   accumulate(s.head_dim, totals, [=](std::int64_t d, auto lanes, V* sums) HWY_ATTR {
                     sums[0] = hn::MulAdd(load(lanes, dy + d), load(lanes, y + d), sums[0]);
                   });
                   g.dy_y_BHT[(b * s.query_heads + h) * s.sequence + t] = totals[0];
                 }
               }
             });
}

template <class Multiply, class T>
void pack_chunk(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead<T>& head,
                std::int64_t key, std::int64_t keys) {
  const std::int64_t D = head.head_dim;
  pack_features<Multiply, N>(head.k(key), head.k.stride, keys, D, scratch.keys, scratch.staging);
  pack_features<Multiply, N>(head.v(key), head.v.stride, keys, D, scratch.values, scratch.staging);
  for (std::int64_t i = 0; i < keys; i += S) {
    pack_positions<Multiply, N>(head.k(key + i), head.k.stride, HWY_MIN(keys - i, S), S, D,
                                scratch.key_rows + i / Multiply::unit * g.columns);
  }
  const auto bytes = static_cast<std::size_t>(dkv_rows<Multiply>(D) * round_up(keys, N)) * sizeof(float);
  std::memset(scratch.dk, 0, bytes);
  std::memset(scratch.dv, 0, bytes);
}

template <class Multiply, class T>
void pack_queries(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead<T>& head,
                  const FirstKeys& first_key, std::int64_t query) {
  const std::int64_t D = head.head_dim, rows = HWY_MIN(Q, g.call.queries - query);
  const HeadRows<const T> dy = g.dy(head);
  pack_features<Multiply, R>(head.q(query), head.q.stride, rows, D, scratch.q, scratch.staging);
  pack_features<Multiply, R>(dy(query), dy.stride, rows, D, scratch.dy, scratch.staging);
  const std::int64_t done = round_up(rows, R), U = feature_units<Multiply>(D);
  const auto rest = static_cast<std::size_t>((Q - done) * U) * sizeof(float);
  std::memset(scratch.q + done * U, 0, rest);
  std::memset(scratch.dy + done * U, 0, rest);
  pack_positions<Multiply, R>(head.q(query), head.q.stride, rows, Q, D, scratch.q_rows);
  pack_positions<Multiply, R>(dy(query), dy.stride, rows, Q, D, scratch.dy_rows);
  note_queries(g, scratch, head, first_key, query, rows);
}

/// The weight of a score, and the gradient of the score from that of the weight.
struct Gradient {
  V weight, dscore;
};

/// Returns the weights and gradients of vector n in row i of a panel.
template <bool CAPPED>
HWY_INLINE Gradient softmax_gradient(const BackwardScratch& scratch, const float* dweights,
                                     ScoreFactors factors, QueryBlock block, std::int64_t key, bool masked,
                                     std::int64_t i, std::int64_t n) {
  constexpr hn::RebindToSigned<Floats> integers;
  const V factor = hn::Set(floats, factors.slope), log2_factor = hn::Set(floats, factors.power);
  const V score = hn::LoadU(floats, scratch.weights + i * N + n);
  const V dweight = hn::LoadU(floats, dweights + i * N + n);
  const V weight = power_of_two(hn::MulSub(score, log2_factor, hn::Set(floats, scratch.shift[i])));
  V dscore = hn::Mul(weight, hn::MulSub(dweight, factor, hn::Set(floats, scratch.mean[i])));
  if constexpr (CAPPED) dscore = hn::Mul(dscore, capped_slope(score));
  if (!masked) return {weight, dscore};
  const auto position = counting_from(key + n);
  const auto last = hn::Set(integers, static_cast<std::int32_t>(block.last_key_of(i)));
  const auto unseen = hn::RebindMask(
      floats, hn::Or(hn::Gt(position, last), hn::Lt(position, hn::Set(integers, scratch.first[i]))));
  return {hn::IfThenZeroElse(unseen, weight), hn::IfThenZeroElse(unseen, dscore)};
}

/// Turns a panel's scores into weights, and its weights' gradients into scores' gradients, with
/// queries as units. If units are pairs, the scores' gradients are also written with keys as units,
/// in dscore_rows.
template <class Multiply, bool CAPPED>
void softmax_gradients(const BackwardScratch& scratch, float* dweights, ScoreFactors factors,
                       QueryBlock block, std::int64_t key, const VisibleQueries& seeing) {
  const auto gradient = [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    return softmax_gradient<CAPPED>(scratch, dweights, factors, block, key, seeing.masked, i, n);
  };
  for (std::int64_t i = seeing.begin; i < seeing.end; i += Multiply::unit) {
    const std::int64_t out = i / Multiply::unit * N;
    for (std::int64_t n = 0; n < N; n += num_lanes) {
      const Gradient even = gradient(i, n);
      if constexpr (Multiply::unit == 1) {
        hn::StoreU(even.weight, floats, scratch.weights + out + n);
        hn::StoreU(even.dscore, floats, dweights + out + n);
      } else {
        const Gradient odd = gradient(i + 1, n);
        store_bf16(even.dscore, scratch.dscore_rows + i * (N / 2), n);
        store_bf16(odd.dscore, scratch.dscore_rows + (i + 1) * (N / 2), n);
        hn::StoreU(join_bf16(even.weight, odd.weight), floats, scratch.weights + out + n);
        hn::StoreU(join_bf16(even.dscore, odd.dscore), floats, dweights + out + n);
      }
    }
  }
}

/// Copies a panel's scores' gradients into left panels whose units are keys, from panel `panel` on.
template <class Multiply>
void by_key(const BackwardScratch& scratch, const float* dscores, const VisibleQueries& seeing,
            std::int64_t panel) {
  constexpr std::int64_t units = N / Multiply::unit, length = S / Multiply::unit;
  const float* rows = Multiply::unit == 1 ? dscores : scratch.dscore_rows;
  for (std::int64_t i = 0; i < Q; i += R) {
    float* target = scratch.dscores_by_key + i * length + panel * units * R;
    if (i < seeing.begin || i >= seeing.end) {
      std::memset(target, 0, static_cast<std::size_t>(units * R) * sizeof(float));
    } else {
      transpose(rows + i * units, units, R, units, target, R);
    }
  }
}

/// Processes a panel of keys and a block of queries. Adds to dk and dv, and leaves the scores'
/// gradients by key.
template <class Multiply>
void panel_gradients(const BackwardScratch& scratch, std::int64_t D, ScoreFactors factors,
                     const QueryBlock& block, std::int64_t key, std::int64_t chunk_panel,
                     std::int64_t block_panel) {
  constexpr std::int64_t unit = Multiply::unit;
  const std::int64_t U = feature_units<Multiply>(D), units = ceil_div(D, unit);
  float* dscores = scratch.dscores + block_panel * Q * N;
  const VisibleQueries seeing = visible_queries(scratch.first, Q, R, block, key);
  const std::int64_t begin = seeing.begin, count = seeing.end - seeing.begin;
  if (count > 0) {
    multiply_panels<Multiply>(count, units, scratch.q + begin * U, U, scratch.keys + chunk_panel * U * N,
                              scratch.weights + begin * N, N, false);
    multiply_panels<Multiply>(count, units, scratch.dy + begin * U, U, scratch.values + chunk_panel * U * N,
                              dscores + begin * N, N, false);
    if (factors.is_capped()) {
      take_tanh(count * N, factors.tanh, scratch.weights + begin * N);
      softmax_gradients<Multiply, true>(scratch, dscores, factors, block, key, seeing);
    } else {
      softmax_gradients<Multiply, false>(scratch, dscores, factors, block, key, seeing);
    }
    const std::int64_t offset = chunk_panel * dkv_rows<Multiply>(D) * N;
    multiply_panels<Multiply>(D, count / unit, scratch.dy_rows + begin / unit * R, Q / unit,
                              scratch.weights + begin / unit * N, scratch.dv + offset, N, true);
    multiply_panels<Multiply>(D, count / unit, scratch.q_rows + begin / unit * R, Q / unit,
                              dscores + begin / unit * N, scratch.dk + offset, N, true);
  }
  by_key<Multiply>(scratch, dscores, seeing, block_panel);
}

/// Adds panels [begin, end) of a block's keys, weighted by the scores' gradients, to its queries'
/// gradients.
template <class Multiply>
void add_to_queries(const BackwardScratch& scratch, std::int64_t, std::int64_t begin, std::int64_t end,
                    std::int64_t, const float* rows, std::int64_t columns, bool add, float* dq) {
  constexpr std::int64_t unit = Multiply::unit;
  for (std::int64_t d = 0; d < columns; d += N) {
    multiply_panels<Multiply>(Q, (end - begin) * N / unit, scratch.dscores_by_key + begin * N / unit * R,
                              S / unit, rows + d * (S / unit) + begin * N / unit * N, dq + d, columns, add);
  }
}

/// Prefetches of q and dy of the next block of queries.
struct ComingQueries {
  RowPrefetcher q, dy;
  std::int64_t at_once;
};

/// Processes a block of queries and a chunk's block of keys.
template <class Multiply>
void block_gradients(ComingQueries& coming, const BackwardScratch& scratch, std::int64_t D,
                     ScoreFactors factors, const QueryBlock& block, std::int64_t chunk, std::int64_t key,
                     std::int64_t keys, std::int64_t columns, bool add, float* dq) {
  const std::int64_t begin = HWY_MAX(scratch.first[0] - key, 0) / N;
  const std::int64_t end = HWY_MIN(ceil_div(block.last_key + 1 - key, N), S / N);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    coming.q.fetch(coming.at_once);
    coming.dy.fetch(coming.at_once);
    panel_gradients<Multiply>(scratch, D, factors, block, key + panel * N, (key - chunk) / N + panel, panel);
  }
  add_to_queries<Multiply>(scratch, D, begin, end, keys,
                           scratch.key_rows + (key - chunk) / Multiply::unit * columns, columns, add, dq);
}

/// Waits until the previous chunks have added to the gradients of a block of queries.
void await_turn(std::int32_t& turn, std::int64_t chunk) {
  while (std::atomic_ref(turn).load(std::memory_order_acquire) != chunk) std::this_thread::yield();
}

/// Processes a block of queries of one head and a chunk of keys.
template <class Multiply, class T>
void query_block_gradients(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead<T>& head,
                           std::int64_t query, std::int64_t chunk, float* dq, std::int32_t& turn) {
  const AttentionCall& call = g.call;
  const std::int64_t D = head.head_dim, first = scratch.first[0], rows = HWY_MIN(Q, call.queries - query);
  const QueryBlock block{call.offset + query, rows, call.last_key(query + rows - 1)};
  if (chunk > first) await_turn(turn, chunk / g.chunk);
  const std::int64_t next = query + Q, next_rows = HWY_MAX(HWY_MIN(Q, call.queries - next), 0);
  ComingQueries coming{
      {head.q, next, next_rows, D}, {g.dy(head), next, next_rows, D}, ceil_div(Q * N, g.chunk)};
  for (std::int64_t key = HWY_MAX(chunk, chunk + round_down(HWY_MAX(first - chunk, 0), S));
       key <= block.last_key && key < chunk + g.chunk; key += S) {
    block_gradients<Multiply>(coming, scratch, D, g.factors, block, chunk, key,
                              HWY_MIN(S, HWY_MIN(chunk + g.chunk, call.keys) - key), g.columns, key > first,
                              dq);
  }
  if (block.last_key < chunk + g.chunk) {
    const auto out = output_rows<T>(g.gradients.to.q, head.row + query, head.column, g.gradients.add_q);
    put_rows(dq, g.columns, rows, D, out);
  }
  std::atomic_ref(turn).store(static_cast<std::int32_t>(chunk / g.chunk + 1), std::memory_order_release);
}

/// Processes a chunk of one key-value head's keys with all its query heads, which start at h.
/// `slot` is the batch entry's index in dq.
template <class Multiply, class T>
void chunk_gradients(const Backward<T>& g, const BackwardScratch& scratch, std::int64_t b, std::int64_t slot,
                     std::int64_t h, std::int64_t chunk) {
  const AttentionCall& call = g.call;
  const AttentionHead<T> kv(call, b, h);
  const FirstKeys first_key(call, b);
  const std::int64_t D = kv.head_dim, keys = HWY_MIN(g.chunk, call.keys - chunk);
  const std::int64_t blocks = g.padded_queries / Q, heads = call.shape.query_heads;
  const std::int64_t first_query = HWY_MAX(chunk - call.offset, 0);
  pack_chunk<Multiply>(g, scratch, kv, chunk, keys);
  const std::int64_t group = first_query < call.queries ? heads / call.shape.key_value_heads : 0;
  for (std::int64_t i = h; i < h + group; ++i) {
    const AttentionHead<T> head(call, b, i);
    const std::int64_t block = (slot * heads + i) * blocks;
    for (std::int64_t query = round_down(first_query, Q);
         query < call.queries && first_key(query) < chunk + keys; query += Q) {
      pack_queries<Multiply>(g, scratch, head, first_key, query);
      query_block_gradients<Multiply>(g, scratch, head, query, chunk,
                                      g.dq_BHLP + (block * Q + query) * g.columns,
                                      g.turns_BHLQ[block + query / Q]);
    }
  }
  const auto& [to, add_q, add_kv] = g.gradients;
  const auto dk = output_rows<T>(to.k, kv.kv_row + chunk, kv.kv_column, add_kv);
  const auto dv = output_rows<T>(to.v, kv.kv_row + chunk, kv.kv_column, add_kv);
  for (std::int64_t i = 0; i < keys; i += N) {
    const std::int64_t rows = HWY_MIN(N, keys - i), panel = i * dkv_rows<Multiply>(D);
    unpack_positions(scratch.dk + panel, rows, D, dk.from(i), scratch.staging);
    unpack_positions(scratch.dv + panel, rows, D, dv.from(i), scratch.staging);
  }
}

/// Zeros the gradients of blocks of queries that see no key, since no chunk writes them.
template <class T>
void clear_unseeing_blocks(const Backward<T>& g) {
  if (g.gradients.add_q) return;
  const Tensor& rows_RS = g.gradients.to.q.rows_RS;
  const std::int64_t blocks = g.padded_queries / Q, width = g.call.shape.query_heads * g.call.shape.head_dim;
  const std::size_t element = dtype_bytes(rows_RS.dtype());
  for (std::int64_t i = 0; i < g.call.shape.batch * blocks; ++i) {
    const std::int64_t b = i / blocks, query = i % blocks * Q, end = HWY_MIN(query + Q, g.call.queries);
    if (FirstKeys(g.call, b)(query) <= g.call.last_key(end - 1)) continue;
    for (std::int64_t r = b * g.call.queries + query; r < b * g.call.queries + end; ++r) {
      const auto first = static_cast<std::size_t>(r * rows_RS.dim(1) + g.gradients.to.q.first);
      std::memset(rows_RS.raw() + first * element, 0, static_cast<std::size_t>(width) * element);
    }
  }
}

template <class Multiply, class T>
void attention_backward_of(const Context& context, const AttentionCall& call, const Tensor& dy_RQ,
                           const Tensor& y_RQ, const Tensor& lse_BHT, const AttentionGradients& gradients) {
  const AttentionShape& shape = call.shape;
  const std::int64_t D = shape.head_dim, units = feature_units<Multiply>(D);
  const std::int64_t heads = shape.query_heads, K = shape.key_value_heads, threads = context.threads();
  const std::int64_t columns = padded_features<N>(D), padded = round_up(call.queries, Q);
  std::int64_t chunk = most_blocks * S;
  while (chunk > S && shape.batch * K * ceil_div(call.keys, chunk) < 4 * threads) chunk /= 2;
  const std::int64_t chunks = ceil_div(call.keys, chunk);
  // The number of batch entries whose dq is held at a time. It is enough to keep the threads busy.
  const std::int64_t slots = HWY_MIN(shape.batch, ceil_div(8 * threads, K * chunks));
  const BackwardSizes sizes{chunk, units, columns, dkv_rows<Multiply>(D), N * HWY_MAX(units, round_up(D, 4))};

  Arena& arena = context.scratch();
  const Arena::Scope scope(arena);
  const Tensor dy_y = arena.allocate(DType::f32, {shape.batch, heads, call.queries});
  const Tensor dq = arena.allocate(DType::f32, {slots, heads, padded, columns});
  const Tensor turns = arena.allocate(DType::i32, {slots, heads, padded / Q});
  const Tensor memory = arena.allocate(DType::f32, {threads, sizes.floats()});
  float* scratch = memory.data<float>();
  const Backward<T> g{context,
                      call,
                      gradients,
                      dy_RQ,
                      lse_BHT.data<float>(),
                      dy_y.data<float>(),
                      dq.data<float>(),
                      turns.data<std::int32_t>(),
                      chunk,
                      padded,
                      columns,
                      ScoreFactors(shape)};
  dot_outputs(g, y_RQ.data<T>());
  clear_unseeing_blocks(g);
  for (std::int64_t b = 0; b < shape.batch; b += slots) {
    const std::int64_t jobs = HWY_MIN(slots, shape.batch - b) * K;
    std::memset(g.turns_BHLQ, 0, turns.bytes());
    // Most queries see the first chunks, so that the longest jobs come first.
    for_jobs(context, chunks * jobs, [&](std::int64_t job, int thread) {
      [[maybe_unused]] const typename Multiply::OnThread on_thread;
      const std::int64_t slot = job % jobs / K, h = job % K * (heads / K);
      chunk_gradients<Multiply>(g, sizes.divide(scratch + thread * sizes.floats()), b + slot, slot, h,
                                job / jobs * chunk);
    });
  }
}

void attention_backward(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients) {
  const AttentionCall call(shape, visibility, qkv);
  with_arithmetic(context, qkv.q.rows_RS.dtype(), [&](auto multiply, auto element) {
    attention_backward_of<decltype(multiply), decltype(element)>(context, call, dy_RQ, y_RQ, lse_BHT,
                                                                 gradients);
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(attention_backward);

void attention_backward(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(attention_backward)
  (context, shape, visibility, dy_RQ, qkv, y_RQ, lse_BHT, gradients);
}

}  // namespace dt::kernels::cpu
#endif
