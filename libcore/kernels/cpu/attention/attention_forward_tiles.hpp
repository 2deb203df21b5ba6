// Flash attention's forward pass (attention_forward.cpp) with products in AMX tiles. These are so
// fast that the softmax takes as long as both products. So no pass looks for a maximum before
// scores become weights. If a maximum turns out too low, the weights' sum shows it, and the slab of
// keys is weighted again.
//
// Legend: see attention_panels.hpp; S keys of a block, N queries of a panel.
#include <limits>

#include "kernels/cpu/attention/attention_panels.hpp"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// The number of keys whose scores are held at a time.
constexpr std::int64_t slab_keys = 64;
constexpr std::int64_t slab_queries = tile_columns, slab_vectors = slab_queries / num_lanes;
static_assert(slab_queries == 2 * amx_columns && num_lanes == amx_columns);
/// The most that a slab's weights may sum to before a maximum is raised. It is large, so that
/// raises are rare; the range of fp32 permits that.
constexpr float most_sum = 8192;

/// A panel's queries and some keys: scores by key, and the weights that they become, as a right
/// operand.
struct Slab {
  const float* scores;
  float* weights;
  std::int64_t weights_panel, keys;
  float scale;
  bool masked;
  hn::VFromD<hn::RebindToSigned<Floats>> first[slab_vectors], last[slab_vectors];  // seen by each query

  HWY_INLINE V score(std::int64_t key, std::int64_t n) const {
    return hn::LoadU(floats, scores + key * slab_queries + n * num_lanes);
  }
  HWY_INLINE hn::MFromD<Floats> hides(std::int64_t key, std::int64_t n) const {
    constexpr hn::RebindToSigned<Floats> integers;
    const auto j = hn::Set(integers, static_cast<std::int32_t>(key));
    return hn::RebindMask(floats, hn::Or(hn::Lt(j, first[n]), hn::Gt(j, last[n])));
  }
};

/// Sets the keys that each query sees, counted from the slab's first key.
HWY_INLINE void look(const AttentionCall& call, const FirstKeys& first_key, std::int64_t query,
                     std::int64_t key, Slab& slab) {
  for (std::int64_t n = 0; n < slab_vectors; ++n) {
    slab.first[n] = first_keys(first_key, query + n * num_lanes, key);
    slab.last[n] = last_keys(call, query + n * num_lanes, key);
  }
}

/// A value for each query.
struct OfQueries {
  V of[slab_vectors];
};

/// Computes the weights 2^(scale · score − maximum) and returns their sums.
template <bool MASKED>
HWY_INLINE OfQueries weigh(const Slab& slab, const float* highest) {
  const V factor = hn::Set(floats, slab.scale);
  V even_sums[slab_vectors], odd_sums[slab_vectors], maxima[slab_vectors];
  for (std::int64_t n = 0; n < slab_vectors; ++n) {
    maxima[n] = hn::LoadU(floats, highest + n * num_lanes);
    even_sums[n] = odd_sums[n] = hn::Zero(floats);
  }
  const auto weight = [&](std::int64_t key, std::int64_t n) HWY_ATTR {
    const V power = rough_power_of_two(hn::MulSub(slab.score(key, n), factor, maxima[n]));
    return MASKED ? hn::IfThenZeroElse(slab.hides(key, n), power) : power;
  };
  float* weights = slab.weights;
  const std::int64_t keys = slab.keys, weights_panel = slab.weights_panel;
  for (std::int64_t key = 0; key < keys; key += 2, weights += num_lanes) {
    HWY_UNROLL(2)
    for (std::int64_t n = 0; n < slab_vectors; ++n) {
      const V even = weight(key, n), odd = weight(key + 1, n);
      even_sums[n] = hn::Add(even_sums[n], even);
      odd_sums[n] = hn::Add(odd_sums[n], odd);
      hn::StoreU(join_bf16(even, odd), floats, weights + n * weights_panel);
    }
  }
  OfQueries sums;
  for (std::int64_t n = 0; n < slab_vectors; ++n) sums.of[n] = hn::Add(even_sums[n], odd_sums[n]);
  return sums;
}
OfQueries weigh(const Slab& slab, const float* highest) {
  return slab.masked ? weigh<true>(slab, highest) : weigh<false>(slab, highest);
}

/// Returns the highest seen score of each of num_lanes queries; −∞ if there is none.
HWY_INLINE V highest_score(const Slab& slab, std::int64_t n) {
  const V lowest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  V top = lowest;
  for (std::int64_t key = 0; key < slab.keys; ++key) {
    const V score = slab.score(key, n);
    top = hn::Max(top, slab.masked ? hn::IfThenElse(slab.hides(key, n), lowest, score) : score);
  }
  return top;
}

/// The running state of a panel of queries: maxima as powers of two, sums, and D rows of y.
struct Running {
  float *highest, *sum, *y;
  std::int64_t D;
};

/// Raises maxima to a slab's where its sum is too large, and rescales previous sums.
void raise(const Slab& slab, const OfQueries& sums, const Running& running) {
  const V lowest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  for (std::int64_t n = 0; n < slab_vectors; ++n) {
    float *highest = running.highest + n * num_lanes, *sum = running.sum + n * num_lanes;
    const V old = hn::LoadU(floats, highest);
    const V top = highest_score(slab, n);
    const auto raised = hn::And(hn::Not(hn::Le(sums.of[n], hn::Set(floats, most_sum))), hn::Gt(top, lowest));
    if (hn::AllFalse(floats, raised)) continue;
    const V maximum = hn::IfThenElse(raised, hn::Mul(top, hn::Set(floats, slab.scale)), old);
    const V scale = hn::IfThenElse(raised, rough_power_of_two(hn::Sub(old, maximum)), hn::Set(floats, 1));
    hn::StoreU(maximum, floats, highest);
    hn::StoreU(hn::Mul(hn::LoadU(floats, sum), scale), floats, sum);
    for (std::int64_t d = 0; d < running.D; ++d) {
      float* p = running.y + d * slab_queries + n * num_lanes;
      hn::StoreU(hn::Mul(hn::LoadU(floats, p), scale), floats, p);
    }
  }
}

HWY_INLINE bool is_too_much(const OfQueries& sums) {
  auto fits = hn::Le(sums.of[0], hn::Set(floats, most_sum));
  for (std::int64_t n = 1; n < slab_vectors; ++n) {
    fits = hn::And(fits, hn::Le(sums.of[n], hn::Set(floats, most_sum)));
  }
  return !hn::AllTrue(floats, fits);
}

template <InTiles Multiply>
void pack_queries(const ForwardJob<BFloat16>& job, const ForwardScratch& scratch, std::int64_t queries) {
  const AttentionHead<BFloat16>& head = job.head;
  pack_tile_features<false>(head.q(job.first), head.q.stride, queries, head.head_dim, scratch.queries);
}

template <InTiles Multiply>
void pack_keys(const ForwardJob<BFloat16>& job, const ForwardScratch& scratch, std::int64_t key) {
  const AttentionHead<BFloat16>& head = job.head;
  const std::int64_t keys = HWY_MIN(Multiply::S, job.call.keys - key);
  pack_tile_features<true>(head.k(key), head.k.stride, keys, head.head_dim, scratch.keys);
  pack_tile_positions<true>(head.v(key), head.v.stride, keys, head.head_dim, scratch.values);
}

/// The operands of a panel of queries and a block of keys.
template <InTiles Multiply>
struct TilesOfPanel {
  std::int64_t U, D;
  TilePanels queries, keys, values, weights;
  float *scores, *y;

  /// Computes the scores of keys [begin, end) of the block.
  void score(std::int64_t begin, std::int64_t end) const {
    Multiply::strips(end - begin, U, {keys.first + begin * U, keys.stride}, queries, scores, slab_queries,
                     false);
  }
  /// Adds the weighted values of these keys to y.
  void add_values(std::int64_t begin, std::int64_t end) const {
    if (begin == end) return;
    const std::int64_t offset = begin / 2 * amx_rows;
    Multiply::strips(D, (end - begin) / 2, {values.first + offset, values.stride},
                     {weights.first + offset, weights.stride}, y, slab_queries, true);
  }
};

template <InTiles Multiply>
void attend_panel(const ForwardJob<BFloat16>& job, const ForwardScratch& scratch, std::int64_t key,
                  std::int64_t panel) {
  const AttentionCall& call = job.call;
  const std::int64_t D = job.head.head_dim, U = feature_units<Multiply>(D);
  const std::int64_t query = job.first + panel * slab_queries;
  const VisibleKeys seen =
      visible_keys(call, job.first_key, query, slab_queries, key, Multiply::S, tile_pairs);
  float *y = scratch.y + panel * round_up(D, amx_rows) * slab_queries,
        *weights = scratch.scores + slab_keys * slab_queries;
  const Running running{scratch.highest + panel * slab_queries, scratch.sum + panel * slab_queries, y, D};
  const TilesOfPanel<Multiply> tiles{U,
                                     D,
                                     {scratch.queries + panel * U * slab_queries, U * amx_columns},
                                     {scratch.keys, U * amx_rows},
                                     {scratch.values, tile_panel(HWY_MIN(Multiply::S, call.keys - key))},
                                     {weights, tile_panel(Multiply::S)},
                                     scratch.scores,
                                     y};
  const float scale = power_factor(call.shape);
  std::int64_t added = seen.begin;
  for (std::int64_t begin = seen.begin, end; begin < seen.end; begin = end) {
    end = HWY_MIN(round_down(begin, slab_keys) + slab_keys, seen.end);
    tiles.score(begin, end);
    if (job.largest)
      raise_largest(call, job.first_key, query, key + begin, end - begin, seen.masked, scratch.scores,
                    job.largest);
    if (call.shape.scores.softcap != 0) {
      take_tanh((end - begin) * slab_queries, tanh_factor(call.shape), scratch.scores);
    }
    Slab slab{scratch.scores,
              weights + begin / 2 * amx_columns,
              tiles.weights.stride,
              end - begin,
              scale,
              seen.masked,
              {},
              {}};
    if (seen.masked) look(call, job.first_key, query, key + begin, slab);
    OfQueries sums = weigh(slab, running.highest);
    if (is_too_much(sums)) {
      tiles.add_values(added, begin);
      added = begin;
      raise(slab, sums, running);
      sums = weigh(slab, running.highest);
    }
    for (std::int64_t n = 0; n < slab_vectors; ++n) {
      float* sum = running.sum + n * num_lanes;
      hn::StoreU(hn::Add(hn::LoadU(floats, sum), sums.of[n]), floats, sum);
    }
  }
  tiles.add_values(added, seen.end);
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
