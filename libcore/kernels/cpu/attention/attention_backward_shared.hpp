// Code that attention's backward passes with vectors and with AMX tiles share. Compiled once per
// instruction set.
//
// Legend: see attention_panels.hpp; N tile_columns, the keys of a panel; Q queries and S keys of a
// block.
#include <cmath>
#include <utility>

#include "kernels/cpu/attention/attention_panels.hpp"

#if defined(DT_KERNELS_CPU_ATTENTION_BACKWARD_SHARED_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_ATTENTION_BACKWARD_SHARED_TOGGLE
#undef DT_KERNELS_CPU_ATTENTION_BACKWARD_SHARED_TOGGLE
#else
#define DT_KERNELS_CPU_ATTENTION_BACKWARD_SHARED_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr std::int64_t N = tile_columns, R = tile_rows;
constexpr std::int64_t Q = 128, S = 128 / N * N;
constexpr std::int64_t most_blocks = 4;  // blocks of keys in a chunk; they share the packing of queries

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
  float* mean;          // Q: dy · y / √D
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
  const float scale = 1 / std::sqrt(static_cast<float>(head.head_dim)), log2_e = std::log2(std::exp(1.0f));
  for (std::int64_t i = 0; i < Q; ++i) {
    const std::int64_t t = head.lse + query + i;  // rows beyond the queries multiply zeros by one
    scratch.shift[i] = i < rows ? g.lse_BHT[t] * log2_e : 0;
    scratch.mean[i] = i < rows ? g.dy_y_BHT[t] * scale : 0;
    scratch.first[i] = static_cast<std::int32_t>(first_key(query + i));
  }
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
