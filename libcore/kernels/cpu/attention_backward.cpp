// Flash attention's backward pass: per chunk of keys, blocks of queries stream by and their softmax is
// computed again from lse (Dao et al. 2022, algorithm 4). The gradients of keys and values stay with the
// chunk; those of queries gather in fp32, chunk after chunk in the order of keys, whichever threads compute
// them. All gradients may lie over what they are gradients of: nobody but the chunk reads its keys and
// values, and the last of the chunks that a block of queries sees has its turn after all others have packed
// the block.
//
// Legend: as attention_panels.hpp; N tile_columns: the keys of a panel; Q queries and S keys of a block.
#include <atomic>
#include <cmath>
#include <thread>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include "kernels/cpu/attention_backward_tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Σ over d of dy · y, per row and head.
template <class T>
void dot_outputs(const Backward<T>& g, const T* y_RQ) {
  const AttentionShape& s = g.shape;
  for_ranges(g.context, s.batch * s.sequence, s.query_heads * s.head_dim,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t r = begin; r < end; ++r) {
                 const std::int64_t b = r / s.sequence, t = r % s.sequence;
                 for (std::int64_t h = 0; h < s.query_heads; ++h) {
                   const T* dy = g.dy + (r * s.query_heads + h) * s.head_dim;
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
void pack_chunk(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead& head,
                std::int64_t key, std::int64_t keys) {
  const std::int64_t D = head.head_dim, packed = head.packed;
  const T* k = g.qkv + head.k + key * packed;
  const T* v = g.qkv + head.v + key * packed;
  pack_features<Multiply, N>(k, packed, keys, D, scratch.keys, scratch.staging);
  pack_features<Multiply, N>(v, packed, keys, D, scratch.values, scratch.staging);
  for (std::int64_t i = 0; i < keys; i += S) {
    pack_positions<Multiply, N>(k + i * packed, packed, HWY_MIN(keys - i, S), S, D,
                                scratch.key_rows + i / Multiply::unit * g.columns);
  }
  const auto bytes = static_cast<std::size_t>(dkv_rows<Multiply>(D) * round_up(keys, N)) * sizeof(float);
  std::memset(scratch.dk, 0, bytes);
  std::memset(scratch.dv, 0, bytes);
}

template <class Multiply, class T>
void pack_queries(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead& head,
                  const FirstKeys& first_key, std::int64_t query) {
  const std::int64_t D = head.head_dim, rows = HWY_MIN(Q, head.sequence - query);
  const T* q = g.qkv + head.q + query * head.packed;
  const T* dy = g.dy + head.y + query * head.query;
  pack_features<Multiply, R>(q, head.packed, rows, D, scratch.q, scratch.staging);
  pack_features<Multiply, R>(dy, head.query, rows, D, scratch.dy, scratch.staging);
  const std::int64_t done = round_up(rows, R), U = feature_units<Multiply>(D);
  const auto rest = static_cast<std::size_t>((Q - done) * U) * sizeof(float);
  std::memset(scratch.q + done * U, 0, rest);
  std::memset(scratch.dy + done * U, 0, rest);
  pack_positions<Multiply, R>(q, head.packed, rows, Q, D, scratch.q_rows);
  pack_positions<Multiply, R>(dy, head.query, rows, Q, D, scratch.dy_rows);
  note_queries(g, scratch, head, first_key, query, rows);
}

/// A row of weights from its scores, and of the scores' gradients from the weights'.
struct Gradient {
  V weight, dscore;
};

/// Vector n of row i of a panel.
HWY_INLINE Gradient softmax_gradient(const BackwardScratch& scratch, const float* dweights, float scale,
                                     std::int64_t query, std::int64_t key, bool masked, std::int64_t i,
                                     std::int64_t n) {
  constexpr hn::RebindToSigned<Floats> integers;
  const V factor = hn::Set(floats, scale), log2_factor = hn::Set(floats, scale * 1.44269504f);
  const V score = hn::LoadU(floats, scratch.weights + i * N + n);
  const V dweight = hn::LoadU(floats, dweights + i * N + n);
  const V weight = power_of_two(hn::MulSub(score, log2_factor, hn::Set(floats, scratch.shift[i])));
  const V dscore = hn::Mul(weight, hn::MulSub(dweight, factor, hn::Set(floats, scratch.mean[i])));
  if (!masked) return {weight, dscore};
  const auto position = counting_from(key + n);
  const auto last = hn::Set(integers, static_cast<std::int32_t>(query + i));
  const auto unseen = hn::RebindMask(
      floats, hn::Or(hn::Gt(position, last), hn::Lt(position, hn::Set(integers, scratch.first[i]))));
  return {hn::IfThenZeroElse(unseen, weight), hn::IfThenZeroElse(unseen, dscore)};
}

/// Turns a panel's scores into weights and its weights' gradients into scores', as units of queries; for
/// pairs also the latter as units of keys, in dscore_rows.
template <class Multiply>
void softmax_gradients(const BackwardScratch& scratch, float* dweights, float scale, std::int64_t query,
                       std::int64_t key, const Seeing& seeing) {
  const auto gradient = [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    return softmax_gradient(scratch, dweights, scale, query, key, seeing.masked, i, n);
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

/// Brings a panel's scores' gradients into left panels whose units are keys, from the `panel`th on.
template <class Multiply>
void by_key(const BackwardScratch& scratch, const float* dscores, const Seeing& seeing, std::int64_t panel) {
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

/// A panel of keys and a block of queries: adds to dk and dv, leaves the scores' gradients by key.
template <class Multiply>
void panel_gradients(const BackwardScratch& scratch, std::int64_t D, std::int64_t query, std::int64_t,
                     std::int64_t key, std::int64_t chunk_panel, std::int64_t block_panel) {
  constexpr std::int64_t unit = Multiply::unit;
  const std::int64_t U = feature_units<Multiply>(D), units = ceil_div(D, unit);
  float* dscores = scratch.dscores + block_panel * Q * N;
  const Seeing seeing = seeing_queries(scratch.first, Q, R, query, key);
  const std::int64_t begin = seeing.begin, count = seeing.end - seeing.begin;
  if (count > 0) {
    multiply_panels<Multiply>(count, units, scratch.q + begin * U, U, scratch.keys + chunk_panel * U * N,
                              scratch.weights + begin * N, N, false);
    multiply_panels<Multiply>(count, units, scratch.dy + begin * U, U, scratch.values + chunk_panel * U * N,
                              dscores + begin * N, N, false);
    softmax_gradients<Multiply>(scratch, dscores, 1 / std::sqrt(static_cast<float>(D)), query, key, seeing);
    const std::int64_t offset = chunk_panel * dkv_rows<Multiply>(D) * N;
    multiply_panels<Multiply>(D, count / unit, scratch.dy_rows + begin / unit * R, Q / unit,
                              scratch.weights + begin / unit * N, scratch.dv + offset, N, true);
    multiply_panels<Multiply>(D, count / unit, scratch.q_rows + begin / unit * R, Q / unit,
                              dscores + begin / unit * N, scratch.dk + offset, N, true);
  }
  by_key<Multiply>(scratch, dscores, seeing, block_panel);
}

/// Adds panels [begin, end) of a block's keys, weighed by the scores' gradients, to its queries' gradients.
template <class Multiply>
void add_to_queries(const BackwardScratch& scratch, std::int64_t, std::int64_t begin, std::int64_t end,
                    std::int64_t, const float* rows, std::int64_t columns, bool add, float* dq) {
  constexpr std::int64_t unit = Multiply::unit;
  for (std::int64_t d = 0; d < columns; d += N) {
    multiply_panels<Multiply>(Q, (end - begin) * N / unit, scratch.dscores_by_key + begin * N / unit * R,
                              S / unit, rows + d * (S / unit) + begin * N / unit * N, dq + d, columns, add);
  }
}

/// The q and dy of the next block of queries.
struct ComingQueries {
  ComingRows q, dy;
  std::int64_t at_once;
};

/// A block of queries, up to `last`, against a chunk's block of keys.
template <class Multiply>
void block_gradients(ComingQueries& coming, const BackwardScratch& scratch, std::int64_t D,
                     std::int64_t query, std::int64_t last, std::int64_t chunk, std::int64_t key,
                     std::int64_t keys, std::int64_t columns, bool add, float* dq) {
  const std::int64_t begin = HWY_MAX(scratch.first[0] - key, 0) / N;
  const std::int64_t end = HWY_MIN(ceil_div(last + 1 - key, N), S / N);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    coming.q.fetch(coming.at_once);
    coming.dy.fetch(coming.at_once);
    panel_gradients<Multiply>(scratch, D, query, last + 1 - query, key + panel * N, (key - chunk) / N + panel,
                              panel);
  }
  add_to_queries<Multiply>(scratch, D, begin, end, keys,
                           scratch.key_rows + (key - chunk) / Multiply::unit * columns, columns, add, dq);
}

/// Waits until the chunks before have added to a block of queries' gradients.
void await_turn(std::int32_t& turn, std::int64_t chunk) {
  while (std::atomic_ref(turn).load(std::memory_order_acquire) != chunk) std::this_thread::yield();
}

/// A block of queries of one head against a chunk of keys.
template <class Multiply, class T>
void query_block_gradients(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead& head,
                           std::int64_t query, std::int64_t chunk, float* dq, std::int32_t& turn) {
  const std::int64_t D = head.head_dim, first = scratch.first[0];
  const std::int64_t last = HWY_MIN(query + Q, head.sequence) - 1;
  if (chunk > first) await_turn(turn, chunk / g.chunk);
  const std::int64_t next = query + Q, rows = HWY_MAX(HWY_MIN(Q, head.sequence - next), 0);
  ComingQueries coming{{g.qkv + head.q + next * head.packed, head.packed, rows, D},
                       {g.dy + head.y + next * head.query, head.query, rows, D},
                       ceil_div(Q * N, g.chunk)};
  for (std::int64_t key = HWY_MAX(chunk, chunk + round_down(HWY_MAX(first - chunk, 0), S));
       key <= last && key < chunk + g.chunk; key += S) {
    block_gradients<Multiply>(coming, scratch, D, query, last, chunk, key,
                              HWY_MIN(S, HWY_MIN(chunk + g.chunk, head.sequence) - key), g.columns,
                              key > first, dq);
  }
  if (last < chunk + g.chunk) {
    T* out = g.dqkv + head.q + query * head.packed;
    for (std::int64_t i = 0; i <= last - query; ++i) {
      const float* row = dq + i * g.columns;
      for_lanes(D, [=](std::int64_t d, auto lanes)
                       HWY_ATTR { store(lanes, load(lanes, row + d), out + i * head.packed + d); });
    }
  }
  std::atomic_ref(turn).store(static_cast<std::int32_t>(chunk / g.chunk + 1), std::memory_order_release);
}

/// A chunk of one key-value head's keys, with all its query heads, which are those from h on. `slot` is the
/// batch entry's place in dq.
template <class Multiply, class T>
void chunk_gradients(const Backward<T>& g, const BackwardScratch& scratch, std::int64_t b, std::int64_t slot,
                     std::int64_t h, std::int64_t chunk) {
  const AttentionHead kv(g.shape, b, h);
  const FirstKeys first_key(g.first_R, kv);
  const std::int64_t D = kv.head_dim, keys = HWY_MIN(g.chunk, kv.sequence - chunk);
  const std::int64_t blocks = g.padded_sequence / Q, heads = g.shape.query_heads;
  pack_chunk<Multiply>(g, scratch, kv, chunk, keys);
  for (std::int64_t i = h; i < h + heads / g.shape.key_value_heads; ++i) {
    const AttentionHead head(g.shape, b, i);
    const std::int64_t block = (slot * heads + i) * blocks;
    for (std::int64_t query = round_down(chunk, Q); query < head.sequence && first_key(query) < chunk + keys;
         query += Q) {
      pack_queries<Multiply>(g, scratch, head, first_key, query);
      query_block_gradients<Multiply>(g, scratch, head, query, chunk,
                                      g.dq_BHLP + (block * Q + query) * g.columns,
                                      g.turns_BHLQ[block + query / Q]);
    }
  }
  for (std::int64_t i = 0; i < keys; i += N) {
    T* row = g.dqkv + (chunk + i) * kv.packed;
    const std::int64_t rows = HWY_MIN(N, keys - i), panel = i * dkv_rows<Multiply>(D);
    unpack_positions(scratch.dk + panel, rows, D, row + kv.k, kv.packed, scratch.staging);
    unpack_positions(scratch.dv + panel, rows, D, row + kv.v, kv.packed, scratch.staging);
  }
}

template <class Multiply, class T>
void attention_backward_of(const Context& context, const AttentionShape& shape, const Tensor& first_R,
                           const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ,
                           const Tensor& lse_BHT, const Tensor& dqkv_RE) {
  const std::int64_t D = shape.head_dim, sequence = shape.sequence, units = feature_units<Multiply>(D);
  const std::int64_t heads = shape.query_heads, K = shape.key_value_heads, threads = context.threads();
  const std::int64_t columns = padded_features<N>(D), padded = round_up(sequence, Q);
  std::int64_t chunk = most_blocks * S;
  while (chunk > S && shape.batch * K * ceil_div(sequence, chunk) < 4 * threads) chunk /= 2;
  const std::int64_t chunks = ceil_div(sequence, chunk);
  // Batch entries whose dq is held at a time: enough to keep the threads busy.
  const std::int64_t slots = HWY_MIN(shape.batch, ceil_div(8 * threads, K * chunks));
  const BackwardSizes sizes{chunk, units, columns, dkv_rows<Multiply>(D), N * HWY_MAX(units, round_up(D, 4))};

  Arena& arena = context.scratch();
  const Arena::Scope scope(arena);
  const Tensor dy_y = arena.allocate(DType::f32, {shape.batch, heads, sequence});
  const Tensor dq = arena.allocate(DType::f32, {slots, heads, padded, columns});
  const Tensor turns = arena.allocate(DType::i32, {slots, heads, padded / Q});
  const Tensor memory = arena.allocate(DType::f32, {threads, sizes.floats()});
  float* scratch = memory.data<float>();
  const Backward<T> g{context,
                      shape,
                      first_R,
                      dy_RQ.data<T>(),
                      qkv_RE.data<T>(),
                      lse_BHT.data<float>(),
                      dqkv_RE.data<T>(),
                      dy_y.data<float>(),
                      dq.data<float>(),
                      turns.data<std::int32_t>(),
                      chunk,
                      padded,
                      columns};
  dot_outputs(g, y_RQ.data<T>());
  for (std::int64_t b = 0; b < shape.batch; b += slots) {
    const std::int64_t jobs = HWY_MIN(slots, shape.batch - b) * K;
    std::memset(g.turns_BHLQ, 0, turns.bytes());
    // The first chunks are seen by most queries: longest first.
    for_jobs(context, chunks * jobs, [&](std::int64_t job, int thread) {
      [[maybe_unused]] const typename Multiply::OnThread on_thread;
      const std::int64_t slot = job % jobs / K, h = job % K * (heads / K);
      chunk_gradients<Multiply>(g, sizes.divide(scratch + thread * sizes.floats()), b + slot, slot, h,
                                job / jobs * chunk);
    });
  }
}

void attention_backward(const Context& context, const AttentionShape& shape, const Tensor& first_R,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE) {
  with_arithmetic(context, qkv_RE.dtype(), [&](auto multiply, auto element) {
    attention_backward_of<decltype(multiply), decltype(element)>(context, shape, first_R, dy_RQ, qkv_RE, y_RQ,
                                                                 lse_BHT, dqkv_RE);
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(attention_backward);

void attention_backward(const Context& context, const AttentionShape& shape, const Tensor& first_R,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE) {
  HWY_DYNAMIC_DISPATCH(attention_backward)
  (context, shape, first_R, dy_RQ, qkv_RE, y_RQ, lse_BHT, dqkv_RE);
}

}  // namespace dt::kernels::cpu
#endif
