// The layout of heads in the panels and units of the inner kernels of tile.hpp and, for AVX-512, of
// tile_amx.hpp. Also has the softmax's powers. Compiled once per instruction set.
//
// Legend: D head dim, U units of a row of D features, W width of a panel: tile_rows for a left
// operand, tile_columns for a right one.

#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attention_head.hpp"
#include "kernels/cpu/gemm/gemm_pack.hpp"
#include "kernels/cpu/gemm/tile.hpp"
#include "kernels/cpu/gemm/tile_amx.hpp"
#include "kernels/cpu/gemm/tile_bf16.hpp"
#include "kernels/cpu/hyperbolic_tangent.hpp"

#if defined(DT_KERNELS_CPU_ATTENTION_PANELS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_ATTENTION_PANELS_TOGGLE
#undef DT_KERNELS_CPU_ATTENTION_PANELS_TOGGLE
#else
#define DT_KERNELS_CPU_ATTENTION_PANELS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Multiplies fp32 operands: a unit is one element.
struct MultiplyFp32 {
  struct OnThread {};
  static constexpr bool in_tiles = false;
  static constexpr std::int64_t S = 64;  // keys of a block in the forward pass
  static constexpr std::int64_t unit = 1;
  static HWY_INLINE void tile(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                              std::int64_t c_row, bool add) {
    multiply_tile(rows, K, a, b, c, c_row, add);
  }
};

/// Multiplies bf16 operands: a unit is two elements.
struct MultiplyBf16 {
  struct OnThread {};
  static constexpr bool in_tiles = false;
  static constexpr std::int64_t S = 64;  // keys of a block in the forward pass
  static constexpr std::int64_t unit = 2;
  static HWY_INLINE void tile(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                              std::int64_t c_row, bool add) {
    multiply_tile_bf16(rows, K, a, b, c, c_row, add);
  }
};

/// Multiplies bf16 operands in tiles (tile_amx.hpp): a unit is two elements.
template <auto STRIPS>
struct MultiplyTiles {
  /// State that a thread holds while it computes.
  struct OnThread {
    AmxTiles tiles{STRIPS == multiply_strips_amx};
    ScopedFlushDenormals without_subnormals;
  };
  static constexpr bool in_tiles = true;
  static constexpr std::int64_t S = 128;
  static constexpr std::int64_t unit = 2;
  static void strips(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                     std::int64_t c_row, bool add) {
    STRIPS(rows, units, a, b, c, c_row, add);
  }
};

template <class Multiply>
concept InTiles = Multiply::in_tiles;

/// Calls body(Multiply{}, T{}) with the arithmetic that the context and this machine use for a
/// dtype.
template <class Body>
void with_arithmetic([[maybe_unused]] const Context& context, DType dtype, const Body& body) {
#if HWY_TARGET == HWY_AVX3
  if (dtype == DType::bf16) {
    const Arithmetic arithmetic = context.arithmetic();
    if (arithmetic == Arithmetic::amx && amx_unavailable_reason().empty()) {
      return body(MultiplyTiles<multiply_strips_amx>{}, BFloat16{});
    }
    if (arithmetic == Arithmetic::amx_by_loops) {
      return body(MultiplyTiles<multiply_strips_by_loops>{}, BFloat16{});
    }
    if (arithmetic == Arithmetic::bf16 && has_bf16_tiles()) return body(MultiplyBf16{}, BFloat16{});
  }
#endif
  with_elements(dtype, [&](auto element) HWY_ATTR { body(MultiplyFp32{}, element); });
}

/// Sets c, of tile_columns columns, to the product of left panels of K units and one right panel,
/// or adds it to c. Left panels are `a_panel` units apart.
template <class Multiply>
HWY_INLINE void multiply_panels(std::int64_t rows, std::int64_t K, const float* a, std::int64_t a_panel,
                                const float* b, float* c, std::int64_t c_row, bool add) {
  for (std::int64_t i = 0; i < rows; i += tile_rows) {
    Multiply::tile(HWY_MIN(rows - i, tile_rows), K, a + i * a_panel, b, c + i * c_row, c_row, add);
  }
}

/// Returns the units of D features, padded to the size of a panel.
template <class Multiply>
std::int64_t feature_units(std::int64_t D) {
  return round_up(ceil_div(D, Multiply::unit), Multiply::in_tiles ? amx_units : 4);
}
/// Returns D padded for features that are rows or columns of panels.
template <std::int64_t W>
std::int64_t padded_features(std::int64_t D) {
  return round_up(D, HWY_MAX(W, num_lanes));
}

/// Joins two rows as units. Elements are rounded to bf16, ties up, with `even` in the low halves. A
/// NaN stays a NaN unless all its bits are set.
HWY_INLINE V join_bf16(V even, V odd) {
  constexpr hn::RebindToUnsigned<Floats> bits;
  const auto half = hn::Set(bits, 0x8000);
  const auto low = hn::ShiftRight<16>(hn::Add(hn::BitCast(bits, even), half));
  const auto high = hn::And(hn::Add(hn::BitCast(bits, odd), half), hn::Set(bits, 0xffff0000));
  return hn::BitCast(floats, hn::Or(low, high));
}

/// Sets target[c][r] = source[r][c]. Rows and columns are multiples of 4.
inline void transpose(const float* source, std::int64_t source_row, std::int64_t rows, std::int64_t columns,
                      float* target, std::int64_t target_row) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) target[c * target_row + r] = source[r * source_row + c];
  }
#else
  constexpr hn::FixedTag<float, 4> four;
  constexpr hn::RepartitionToWide<decltype(four)> two;
  const auto store = [=](auto v, float* p) HWY_ATTR { hn::StoreU(hn::BitCast(four, v), four, p); };
  for (std::int64_t c = 0; c < columns; c += 4) {
    for (std::int64_t r = 0; r < rows; r += 4) {
      const float* in = source + r * source_row + c;
      float* out = target + c * target_row + r;
      const auto a = hn::LoadU(four, in), b = hn::LoadU(four, in + source_row);
      const auto e = hn::LoadU(four, in + 2 * source_row), f = hn::LoadU(four, in + 3 * source_row);
      const auto ab_low = hn::BitCast(two, hn::InterleaveLower(four, a, b));
      const auto ab_high = hn::BitCast(two, hn::InterleaveUpper(four, a, b));
      const auto ef_low = hn::BitCast(two, hn::InterleaveLower(four, e, f));
      const auto ef_high = hn::BitCast(two, hn::InterleaveUpper(four, e, f));
      store(hn::InterleaveLower(two, ab_low, ef_low), out);
      store(hn::InterleaveUpper(two, ab_low, ef_low), out + target_row);
      store(hn::InterleaveLower(two, ab_high, ef_high), out + 2 * target_row);
      store(hn::InterleaveUpper(two, ab_high, ef_high), out + 3 * target_row);
    }
  }
#endif
}

/// Copies a row's features as units, zero up to `units`.
template <class Multiply, class T>
HWY_INLINE void row_units(const T* source, std::int64_t D, std::int64_t units, float* target) {
  std::memset(target + units - 4, 0, 4 * sizeof(float));
  if constexpr (Multiply::unit == 2) {
    static_assert(std::is_same_v<T, BFloat16>);
    std::memcpy(target, source, static_cast<std::size_t>(D) * sizeof(T));
  } else {
    for_lanes(
        D, [=](std::int64_t d, auto lanes) HWY_ATTR { store(lanes, load(lanes, source + d), target + d); });
  }
}

/// Packs with positions as a panel's rows or columns and features as its units:
/// target[position / W][unit][position % W]. Pads with zeros from `rows` on up to a whole panel.
/// `staging` holds W rows.
template <class Multiply, std::int64_t W, class T>
void pack_features(const T* source, std::int64_t source_row, std::int64_t rows, std::int64_t D, float* target,
                   float* staging) {
  const std::int64_t units = feature_units<Multiply>(D);
  for (std::int64_t r = 0; r < rows; r += W, target += units * W) {
    for (std::int64_t i = 0; i < W; ++i) {
      float* row = staging + i * units;
      if (r + i < rows) {
        row_units<Multiply>(source + (r + i) * source_row, D, units, row);
      } else {
        std::memset(row, 0, static_cast<std::size_t>(units) * sizeof(float));
      }
    }
    transpose(staging, units, W, units, target, W);
  }
}

/// Stores a vector of features from d on, of one unit of positions, into panels that are `panel`
/// floats apart.
template <std::int64_t W>
HWY_INLINE void store_features(V v, std::int64_t d, std::int64_t panel, float* target) {
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(v, floats, target + d / W * panel + d % W);
#else
  if constexpr (W % num_lanes == 0) {
    hn::StoreU(v, floats, target + d / W * panel + d % W);
  } else {
    static_assert(2 * W == num_lanes);
    constexpr hn::Half<Floats> half;
    hn::StoreU(hn::LowerHalf(half, v), half, target + d / W * panel);
    hn::StoreU(hn::UpperHalf(half, v), half, target + (d / W + 1) * panel);
  }
#endif
}

/// Returns `count` features from p on, zero beyond them; all zero if count ≤ 0.
template <class T>
HWY_INLINE V load_features(const T* p, std::int64_t count) {
  if (count >= num_lanes) return load(All{}, p);
  return count > 0 ? load(First{count}, p) : hn::Zero(floats);
}

/// Packs with features as a panel's rows or columns and positions as its units:
/// target[feature / W][unit][feature % W]. Pads with zeros from `rows` on up to `padded_rows`.
template <class Multiply, std::int64_t W, class T>
void pack_positions(const T* source, std::int64_t source_row, std::int64_t rows, std::int64_t padded_rows,
                    std::int64_t D, float* target) {
  constexpr std::int64_t unit = Multiply::unit;
  const std::int64_t panel = padded_rows / unit * W, features = padded_features<W>(D);
  for (std::int64_t r = 0; r < padded_rows; r += unit, target += W, source += unit * source_row) {
    for (std::int64_t d = 0; d < features; d += num_lanes) {
      V v = load_features(source + d, r < rows ? D - d : 0);
      if constexpr (unit == 2) {
        v = join_bf16(v, load_features(source + source_row + d, r + 1 < rows ? D - d : 0));
      }
      store_features<W>(v, d, panel, target);
    }
  }
}

/// Writes rows of D features, or adds them to the target.
template <bool ADD, class T>
HWY_INLINE void put_rows(const float* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                         HeadRows<T> target) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = source + r * source_row;
    T* out = target(r);
    for_lanes(D, [=](std::int64_t d, auto lanes) HWY_ATTR {
      const V v = load(lanes, row + d);
      store(lanes, ADD ? hn::Add(load(lanes, out + d), v) : v, out + d);
    });
  }
}
template <class T>
void put_rows(const float* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
              const OutputRows<T>& target) {
  if (target.rows.first) return put_rows<false>(source, source_row, rows, D, target.rows);
  if (target.add) return put_rows<true>(source, source_row, rows, D, target.wide_rows);
  put_rows<false>(source, source_row, rows, D, target.wide_rows);
}

/// Unpacks rows of D features from panels of columns: source[feature][position] of tile_columns
/// positions.
template <class T>
void unpack_positions(const float* source, std::int64_t rows, std::int64_t D, const OutputRows<T>& target,
                      float* staging) {
  const std::int64_t features = round_up(D, 4);
  transpose(source, tile_columns, features, tile_columns, staging, features);
  put_rows(staging, features, rows, D, target);
}

/// Returns first, first + 1, … in the lanes. (gcc 12 builds Highway's Iota lane by lane at each
/// use.)
HWY_INLINE hn::VFromD<hn::RebindToSigned<Floats>> counting_from(std::int64_t first) {
  constexpr hn::RebindToSigned<Floats> integers;
  static constexpr std::int32_t counting[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static_assert(num_lanes <= std::ssize(counting));
  return hn::Add(hn::LoadU(integers, counting), hn::Set(integers, static_cast<std::int32_t>(first)));
}

/// Returns the first keys, counted from `key`, that queries from `query` on see. They are negative
/// for keys before `key`.
HWY_INLINE hn::VFromD<hn::RebindToSigned<Floats>> first_keys(const FirstKeys& first_key, std::int64_t query,
                                                             std::int64_t key) {
  constexpr hn::RebindToSigned<Floats> integers;
  if (const std::int32_t* positions = first_key.positions(query, num_lanes)) {
    const auto before = static_cast<std::int32_t>(first_key.key_position() + key);
    return hn::Sub(hn::LoadU(integers, positions), hn::Set(integers, before));
  }
  std::int32_t first[num_lanes];
  for (std::int64_t i = 0; i < num_lanes; ++i) {
    first[i] = static_cast<std::int32_t>(first_key(query + i) - key);
  }
  return hn::LoadU(integers, first);
}
/// Returns the last keys, counted from `key`, that queries from `query` on see.
HWY_INLINE hn::VFromD<hn::RebindToSigned<Floats>> last_keys(const AttentionCall& call, std::int64_t query,
                                                            std::int64_t key) {
  constexpr hn::RebindToSigned<Floats> integers;
  const auto last = hn::Set(integers, static_cast<std::int32_t>(call.keys - 1 - key));
  return hn::Min(counting_from(call.offset + query - key), last);
}

/// Returns 2^x for x < 128; 0 below −126. NaN stays NaN, since a diverged run must show in the
/// loss. With n = round(x), r = x − n: 2^x = 2ⁿ · 2^r.
/// Numerics: within 2 units in the last place.
HWY_INLINE V power_of_two(V x) {
  const auto f = [](float value) HWY_ATTR { return hn::Set(floats, value); };
  constexpr hn::RebindToSigned<Floats> integers;
  constexpr float magic = 12582912;  // 1.5 · 2²³: adding it leaves n in the lowest bits
  const V shifted = hn::Add(x, f(magic));
  const V r = hn::Sub(x, hn::Sub(shifted, f(magic)));
  // The polynomial of least relative error on ±1/2 among those that are exact at 0.
  V p = hn::MulAdd(r, f(1.55946778e-4f), f(1.34066434e-3f));
  p = hn::MulAdd(r, p, f(9.61769279e-3f));
  p = hn::MulAdd(r, p, f(5.55031039e-2f));
  p = hn::MulAdd(r, p, f(2.40226522e-1f));
  p = hn::MulAdd(r, p, f(6.93147242e-1f));
  p = hn::MulAdd(r, p, f(1));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  const V power = hn::BitCast(floats, hn::Add(exponent, hn::BitCast(integers, f(1))));
  return hn::IfThenZeroElse(hn::Lt(x, f(-126)), hn::Mul(p, power));
}

// With a soft cap, tanh(scale · q·k / cap) takes the place of products before they are masked. All
// that follows then differs by a factor alone, and costs what it costs without a cap.

/// Returns the factor of what stands for products, as powers of two.
inline float power_factor(const AttentionShape& shape) {
  const auto& [scale, softcap] = shape.scores;
  const float log2_e = std::log2(std::exp(1.0f));
  if (softcap != 0) return log2_e * static_cast<float>(softcap);
  return scale == 0 ? log2_e / std::sqrt(static_cast<float>(shape.head_dim))
                    : log2_e * static_cast<float>(scale);
}
/// Returns the factor of products in tanh.
inline float tanh_factor(const AttentionShape& shape) {
  return static_cast<float>(score_scale<double>(shape) / shape.scores.softcap);
}
/// Replaces products by tanh(factor · product). `count` is a multiple of tile_columns.
inline void take_tanh(std::int64_t count, float factor, float* products) {
  static_assert(tile_columns % num_lanes == 0);
  for (std::int64_t i = 0; i < count; i += num_lanes) {
    const V x = hn::Mul(hn::LoadU(floats, products + i), hn::Set(floats, factor));
    hn::StoreU(hyperbolic_tangent(x), floats, products + i);
  }
}

/// Raises `largest`, num_lanes values, to the products of a panel's queries with the keys that they see among
/// the `keys` keys from `key` on. `products` are by key, with one query in each lane, before soft cap and
/// mask.
template <bool MASKED>
void raise_largest(const AttentionCall& call, const FirstKeys& first_key, std::int64_t query,
                   std::int64_t key, std::int64_t keys, const float* products, float* largest) {
  constexpr hn::RebindToSigned<Floats> integers;
  const V lowest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  V all = hn::LoadU(floats, largest);
  for (std::int64_t n = 0; n < tile_columns && query + n < call.queries; n += num_lanes) {
    const auto begin = first_keys(first_key, query + n, key);
    const auto last = last_keys(call, query + n, key);
    V top = lowest;
    for (std::int64_t j = 0; j < keys; ++j) {
      V product = hn::LoadU(floats, products + j * tile_columns + n);
      if constexpr (MASKED) {
        const auto row = hn::Set(integers, static_cast<std::int32_t>(j));
        const auto unseen = hn::Or(hn::Lt(row, begin), hn::Gt(row, last));
        product = hn::IfThenElse(hn::RebindMask(floats, unseen), lowest, product);
      }
      top = hn::Max(top, product);
    }
    const std::int64_t queries = HWY_MIN(call.queries - query - n, num_lanes);  // the others are padding
    all = hn::Max(all, hn::IfThenElse(hn::FirstN(floats, static_cast<std::size_t>(queries)), top, lowest));
  }
  hn::StoreU(all, floats, largest);
}
/// `masked` says that some queries do not see all of the keys.
inline void raise_largest(const AttentionCall& call, const FirstKeys& first_key, std::int64_t query,
                          std::int64_t key, std::int64_t keys, bool masked, const float* products,
                          float* largest) {
  (masked ? raise_largest<true> : raise_largest<false>)(call, first_key, query, key, keys, products, largest);
}

#if HWY_TARGET == HWY_AVX3  // AVX-512, which every processor with AMX has

/// The keys, or queries, in a tile's block of units.
constexpr std::int64_t tile_pairs = 2 * amx_units;

/// Packs with positions as a panel's rows (LEFT) or columns and features as its units. Pads both
/// with zeros up to a multiple of 32.
template <bool LEFT>
void pack_tile_features(const BFloat16* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                        float* panels) {
  pack_tiles<LEFT>({reinterpret_cast<const std::byte*>(source), source_row, true, DType::bf16, true}, rows, D,
                   panels);
}
/// Packs with features as a panel's rows (LEFT) or columns and positions as its units.
template <bool LEFT>
void pack_tile_positions(const BFloat16* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                         float* panels) {
  pack_tiles<LEFT>({reinterpret_cast<const std::byte*>(source), source_row, false, DType::bf16, true}, D,
                   rows, panels);
}
/// Returns the floats of a panel of `elements` elements.
inline std::int64_t tile_panel(std::int64_t elements) {
  return amx_rows * round_up(elements, tile_pairs) / 2;
}

/// Returns 2^x within 2^-13, for values that are then rounded to bf16. NaN stays NaN. With n = ⌊x⌋:
/// 2ⁿ · 2^(x − n), the latter by the polynomial of least relative error.
HWY_INLINE V rough_power_of_two(V x) {
  const auto f = [](float value) HWY_ATTR { return hn::Set(floats, value); };
  constexpr int downwards = 1;
  const V r{_mm512_reduce_ps(x.raw, downwards)};
  V p = hn::MulAdd(r, f(7.80245226e-2f), f(2.26067155e-1f));
  p = hn::MulAdd(r, p, f(6.9583354e-1f));
  p = hn::MulAdd(r, p, f(9.99925219e-1f));
  return V{_mm512_scalef_ps(p.raw, x.raw)};
}

#endif

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
