// Flash attention's backward pass (attention_backward.cpp): its state and sizes, and the parts for
// products in AMX tiles, which depend on the packing of operands. A left operand holds rows of
// units. The scores' gradients, which are computed by query, are thus a left operand as they are
// stored. Compiled once per instruction set.
//
// Legend: see attention_panels.hpp; N tile_columns, the keys of a panel; Q queries and S keys of a
// block.

#include <cmath>
#include <utility>

#include "kernels/cpu/attention/attention_panels.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr std::int64_t N = tile_columns, R = tile_rows;
constexpr std::int64_t Q = 128, S = 128 / N * N;
constexpr std::int64_t most_blocks = 4;  // blocks of keys in a chunk; they share the packing of queries

/// The factors of a call's scores.
struct ScoreFactors {
  explicit ScoreFactors(const AttentionShape& shape)
      : slope(score_scale<float>(shape)),
        power((shape.scores.softcap == 0 ? slope : static_cast<float>(shape.scores.softcap)) * 1.44269504f),
        tanh(shape.scores.softcap == 0 ? 0 : tanh_factor(shape)) {}
  bool is_capped() const { return tanh != 0; }
  float slope;  // factor of gradients
  float power;  // factor of the products, for powers of two
  float tanh;   // factor of the products in tanh; 0 without a cap
};

/// Returns a score's derivative by its product, beside the scale, from tanh: 1 − tanh².
HWY_INLINE V capped_slope(V tanh) {
  return hn::NegMulAdd(tanh, tanh, hn::Set(floats, 1));
}

/// State that all threads share.
/// Legend: L the queries in whole blocks, P columns of D in whole panels.
template <class T>
struct Backward {
  const Context& context;
  const AttentionCall& call;
  const AttentionGradients& gradients;
  Tensor dy_RQ;
  const float* lse_BHT;
  float* dy_y_BHT;           // Σ over d of dy · y
  float* dq_BHLP;            // for a number of batch entries at a time
  std::int32_t* turns_BHLQ;  // for each block of queries, the chunk whose turn it is to add to dq
  std::int64_t chunk;        // keys
  std::int64_t padded_queries, columns;
  ScoreFactors factors;

  HeadRows<const T> dy(const AttentionHead<T>& head) const {
    return head_rows<const T>({dy_RQ}, head.row, head.column);
  }
};

/// A block of queries: the position of the first among the keys, the number of queries, and the
/// last key that any of them sees.
struct QueryBlock {
  std::int64_t position, rows, last_key;
  std::int64_t last_key_of(std::int64_t i) const { return HWY_MIN(position + i, last_key); }
};

/// One thread's scratch, in panels.
struct BackwardScratch {
  float* keys;            // right, chunk · U: features are units
  float* values;          // right, chunk · U
  float* key_rows;        // right, chunk · P: positions are units
  float* dk;              // D · chunk
  float* dv;              // D · chunk
  float* q;               // left, Q · U: features are units
  float* dy;              // left, Q · U
  float* q_rows;          // left, Q · D: positions are units
  float* dy_rows;         // left, Q · D
  float* weights;         // Q · N
  float* dscores;         // S · Q
  float* dscore_rows;     // Q · N, if units are pairs of keys
  float* dscores_by_key;  // left, Q · S: keys are units
  float* staging;
  float* shift;         // Q: lse in powers of two
  float* mean;          // Q: dy · y · scale
  std::int32_t* first;  // Q
};

/// Returns the features for which dk, dv and the left operands of positions have room.
template <class Multiply>
std::int64_t dkv_rows(std::int64_t D) {
  return Multiply::in_tiles ? round_up(D, 2 * amx_rows) : padded_features<R>(D);
}

struct BackwardSizes {
  std::int64_t chunk, units, columns, features, staging;

  std::int64_t floats() const {
    const std::int64_t of_chunk = round_up(chunk, N) * (2 * units + columns + 2 * features);
    const std::int64_t of_block = Q * (2 * units + 2 * features + 2 * S + 2 * N + 3);
    return round_up(of_chunk + of_block + staging, 16);
  }
  BackwardScratch divide(float* memory) const {
    const auto take = [&](std::int64_t count) { return std::exchange(memory, memory + count); };
    const std::int64_t keys = round_up(chunk, N);
    return {.keys = take(keys * units),
            .values = take(keys * units),
            .key_rows = take(keys * columns),
            .dk = take(keys * features),
            .dv = take(keys * features),
            .q = take(Q * units),
            .dy = take(Q * units),
            .q_rows = take(Q * features),
            .dy_rows = take(Q * features),
            .weights = take(Q * N),
            .dscores = take(Q * S),
            .dscore_rows = take(Q * N),
            .dscores_by_key = take(Q * S),
            .staging = take(staging),
            .shift = take(Q),
            .mean = take(Q),
            .first = reinterpret_cast<std::int32_t*>(take(Q))};
  }
};

/// The queries of a block that see part of a panel of keys, in whole rows of tiles. `masked` says
/// that some do not see all of the panel.
struct VisibleQueries {
  std::int64_t begin, end;
  bool masked;
};

/// Considers the first `rows` queries, in groups of `group`.
inline VisibleQueries visible_queries(const std::int32_t* first, std::int64_t rows, std::int64_t group,
                                      const QueryBlock& block, std::int64_t key) {
  std::int64_t end = rows;
  while (end > 0 && first[end - 1] >= key + N) --end;
  const std::int64_t begin = HWY_MAX(key - block.position, 0);
  if (begin >= end) return {0, 0, false};
  const std::int64_t whole_begin = round_down(begin, group), whole_end = round_up(end, group);
  return {whole_begin, whole_end, key + N - 1 > block.last_key_of(whole_begin) || first[whole_end - 1] > key};
}

/// Stores 16 bits of each lane, rounded to bf16 as join_bf16 does.
HWY_INLINE void store_bf16(V v, float* target, std::int64_t lane) {
  constexpr hn::RebindToUnsigned<Floats> bits;
  constexpr hn::RebindToSigned<Floats> integers;
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::BitCast(bits, v), hn::Set(bits, 0x8000)));
  hn::StoreU(hn::DemoteTo(halves, hn::BitCast(integers, rounded)), halves,
             reinterpret_cast<std::uint16_t*>(target) + lane);
}

/// Sets the values that the softmax's gradient needs for a block of queries, in addition to packed
/// ones.
template <class T>
void note_queries(const Backward<T>& g, const BackwardScratch& scratch, const AttentionHead<T>& head,
                  const FirstKeys& first_key, std::int64_t query, std::int64_t rows) {
  const float log2_e = std::log2(std::exp(1.0f));
  for (std::int64_t i = 0; i < Q; ++i) {
    const std::int64_t t = head.lse + query + i;  // rows beyond the queries multiply zeros by one
    scratch.shift[i] = i < rows ? g.lse_BHT[t] * log2_e : 0;
    scratch.mean[i] = i < rows ? g.dy_y_BHT[t] * g.factors.slope : 0;
    scratch.first[i] = static_cast<std::int32_t>(first_key(query + i));
  }
}

#if HWY_TARGET == HWY_AVX3

static_assert(N == 2 * amx_columns && N == tile_pairs && Q % tile_pairs == 0);
/// The distance between panels of 16 queries in the scores' gradients by key.
constexpr std::int64_t by_key_panel = amx_rows * S / 2;
/// The distance between the two panels of 16 keys in weights and scores' gradients whose units are
/// queries.
constexpr std::int64_t pairs_panel = amx_columns * Q / 2;

template <InTiles Multiply>
void pack_chunk(const Backward<BFloat16>& g, const BackwardScratch& scratch,
                const AttentionHead<BFloat16>& head, std::int64_t key, std::int64_t keys) {
  const std::int64_t D = head.head_dim;
  pack_tile_features<false>(head.k(key), head.k.stride, keys, D, scratch.keys);
  pack_tile_features<false>(head.v(key), head.v.stride, keys, D, scratch.values);
  for (std::int64_t i = 0; i < keys; i += S) {
    pack_tile_positions<false>(head.k(key + i), head.k.stride, HWY_MIN(keys - i, S), D,
                               scratch.key_rows + i / 2 * g.columns);
  }
  const auto bytes = static_cast<std::size_t>(dkv_rows<Multiply>(D) * round_up(keys, N)) * sizeof(float);
  std::memset(scratch.dk, 0, bytes);
  std::memset(scratch.dv, 0, bytes);
}

template <InTiles Multiply>
void pack_queries(const Backward<BFloat16>& g, const BackwardScratch& scratch,
                  const AttentionHead<BFloat16>& head, const FirstKeys& first_key, std::int64_t query) {
  const std::int64_t D = head.head_dim, rows = HWY_MIN(Q, g.call.queries - query);
  const HeadRows<const BFloat16> dy = g.dy(head);
  pack_tile_features<true>(head.q(query), head.q.stride, rows, D, scratch.q);
  pack_tile_features<true>(dy(query), dy.stride, rows, D, scratch.dy);
  pack_tile_positions<true>(head.q(query), head.q.stride, rows, D, scratch.q_rows);
  pack_tile_positions<true>(dy(query), dy.stride, rows, D, scratch.dy_rows);
  note_queries(g, scratch, head, first_key, query, rows);
}

/// Computes the weights and the scores' gradients of a pair of queries and num_lanes keys.
template <bool MASKED, bool CAPPED>
HWY_INLINE void softmax_gradients_of_pair(const BackwardScratch& scratch, const float* dweights,
                                          ScoreFactors factors, QueryBlock block, std::int64_t key,
                                          std::int64_t i, std::int64_t n, float* by_key) {
  constexpr hn::RebindToSigned<Floats> integers;
  const V factor = hn::Set(floats, factors.slope), log2_factor = hn::Set(floats, factors.power);
  V weights[2], dscores[2];
  HWY_UNROLL(2)
  for (std::int64_t e = 0; e < 2; ++e) {
    const std::int64_t row = i + e;
    const V score = hn::LoadU(floats, scratch.weights + row * N + n);
    const V dweight = hn::LoadU(floats, dweights + row * N + n);
    V weight = rough_power_of_two(hn::MulSub(score, log2_factor, hn::Set(floats, scratch.shift[row])));
    if constexpr (MASKED) {
      const auto position = counting_from(key + n);
      const auto last = hn::Set(integers, static_cast<std::int32_t>(block.last_key_of(row)));
      const auto unseen =
          hn::Or(hn::Gt(position, last), hn::Lt(position, hn::Set(integers, scratch.first[row])));
      weight = hn::IfThenZeroElse(hn::RebindMask(floats, unseen), weight);
    }
    V dscore = hn::Mul(weight, hn::MulSub(dweight, factor, hn::Set(floats, scratch.mean[row])));
    if constexpr (CAPPED) dscore = hn::Mul(dscore, capped_slope(score));
    weights[e] = weight;
    dscores[e] = dscore;
    store_bf16(dscore, by_key + row % amx_rows * amx_units, n);
  }
  float* pairs = scratch.dscore_rows + n / amx_columns * pairs_panel + i / 2 * amx_columns;
  hn::StoreU(join_bf16(weights[0], weights[1]), floats, pairs);
  hn::StoreU(join_bf16(dscores[0], dscores[1]), floats, pairs + 2 * pairs_panel);
}

/// Turns a panel's scores into weights, and its weights' gradients into scores' gradients. Both are
/// written with queries as units to dscore_rows, one after the other. The gradients are also
/// written with keys as units.
template <bool MASKED, bool CAPPED>
void softmax_gradients_in_tiles(const BackwardScratch& scratch, const float* dweights, ScoreFactors factors,
                                QueryBlock block, std::int64_t key, const VisibleQueries& seeing,
                                std::int64_t block_panel) {
  for (std::int64_t i = seeing.begin; i < seeing.end; i += 2) {
    float* by_key = scratch.dscores_by_key + i / amx_rows * by_key_panel + block_panel * amx_rows * amx_units;
    HWY_UNROLL(2)
    for (std::int64_t n = 0; n < N; n += num_lanes) {
      softmax_gradients_of_pair<MASKED, CAPPED>(scratch, dweights, factors, block, key, i, n, by_key);
    }
  }
}

/// Zeros the scores' gradients of queries that see nothing of a panel of keys.
inline void clear_unseeing(const BackwardScratch& scratch, const VisibleQueries& seeing,
                           std::int64_t block_panel) {
  for (std::int64_t i = 0; i < Q; i += amx_rows) {
    if (i >= seeing.begin && i < seeing.end) continue;
    float* panel = scratch.dscores_by_key + i / amx_rows * by_key_panel + block_panel * amx_rows * amx_units;
    std::memset(panel, 0, static_cast<std::size_t>(amx_rows * amx_units) * sizeof(float));
  }
}

template <InTiles Multiply>
void panel_gradients(const BackwardScratch& scratch, std::int64_t D, ScoreFactors factors,
                     const QueryBlock& block, std::int64_t key, std::int64_t chunk_panel,
                     std::int64_t block_panel) {
  const std::int64_t U = feature_units<Multiply>(D), panel = amx_rows * U;
  const VisibleQueries seeing = visible_queries(scratch.first, block.rows, tile_pairs, block, key);
  clear_unseeing(scratch, seeing, block_panel);
  const std::int64_t begin = seeing.begin, count = seeing.end - seeing.begin;
  if (count == 0) return;
  float* dweights = scratch.dscores;
  Multiply::strips(count, U, {scratch.q + begin * U, panel}, {scratch.keys + chunk_panel * 2 * panel, panel},
                   scratch.weights + begin * N, N, false);
  Multiply::strips(count, U, {scratch.dy + begin * U, panel},
                   {scratch.values + chunk_panel * 2 * panel, panel}, dweights + begin * N, N, false);
  if (factors.is_capped()) {
    take_tanh(count * N, factors.tanh, scratch.weights + begin * N);
    (seeing.masked ? softmax_gradients_in_tiles<true, true>
                   : softmax_gradients_in_tiles<false, true>)(scratch, dweights, factors, block, key, seeing,
                                                              block_panel);
  } else {
    (seeing.masked ? softmax_gradients_in_tiles<true, false>
                   : softmax_gradients_in_tiles<false, false>)(scratch, dweights, factors, block, key, seeing,
                                                               block_panel);
  }
  const std::int64_t offset = chunk_panel * dkv_rows<Multiply>(D) * N, first = begin / 2 * amx_rows;
  const float* pairs = scratch.dscore_rows + first;
  Multiply::strips(D, count / 2, {scratch.dy_rows + first, tile_panel(block.rows)}, {pairs, pairs_panel},
                   scratch.dv + offset, N, true);
  Multiply::strips(D, count / 2, {scratch.q_rows + first, tile_panel(block.rows)},
                   {pairs + 2 * pairs_panel, pairs_panel}, scratch.dk + offset, N, true);
}

template <InTiles Multiply>
void add_to_queries(const BackwardScratch& scratch, std::int64_t D, std::int64_t begin, std::int64_t end,
                    std::int64_t keys, const float* rows, std::int64_t columns, bool add, float* dq) {
  const std::int64_t first = begin * amx_units * amx_rows, panel = tile_panel(keys);
  for (std::int64_t d = 0; d < D; d += N) {
    Multiply::strips(Q, (end - begin) * amx_units, {scratch.dscores_by_key + first, by_key_panel},
                     {rows + d / amx_columns * panel + first, panel}, dq + d, columns, add);
  }
}

#endif

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
