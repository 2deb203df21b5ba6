// Flash attention's backward pass (attention_backward.cpp) with products in AMX tiles. This file
// has the parts that depend on the packing of operands. A left operand holds rows of units. The
// scores' gradients, which are computed by query, are thus a left operand as they are stored.
#include "kernels/cpu/attention/attention_backward_shared.hpp"
#include "kernels/cpu/attention/attention_tiles.hpp"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

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
template <bool MASKED>
HWY_INLINE void softmax_gradients_of_pair(const BackwardScratch& scratch, const float* dweights, float scale,
                                          QueryBlock block, std::int64_t key, std::int64_t i, std::int64_t n,
                                          float* by_key) {
  constexpr hn::RebindToSigned<Floats> integers;
  const V factor = hn::Set(floats, scale), log2_factor = hn::Set(floats, scale * 1.44269504f);
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
template <bool MASKED>
void softmax_gradients_in_tiles(const BackwardScratch& scratch, const float* dweights, float scale,
                                QueryBlock block, std::int64_t key, const VisibleQueries& seeing,
                                std::int64_t block_panel) {
  for (std::int64_t i = seeing.begin; i < seeing.end; i += 2) {
    float* by_key = scratch.dscores_by_key + i / amx_rows * by_key_panel + block_panel * amx_rows * amx_units;
    HWY_UNROLL(2)
    for (std::int64_t n = 0; n < N; n += num_lanes) {
      softmax_gradients_of_pair<MASKED>(scratch, dweights, scale, block, key, i, n, by_key);
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
void panel_gradients(const BackwardScratch& scratch, std::int64_t D, const QueryBlock& block,
                     std::int64_t key, std::int64_t chunk_panel, std::int64_t block_panel) {
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
  (seeing.masked ? softmax_gradients_in_tiles<true>
                 : softmax_gradients_in_tiles<false>)(scratch, dweights, 1 / std::sqrt(static_cast<float>(D)),
                                                      block, key, seeing, block_panel);
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

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
