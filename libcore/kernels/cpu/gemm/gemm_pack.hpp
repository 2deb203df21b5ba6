// Packs operands of a matrix product into the panels of tile.hpp, and for AVX-512 into those of
// tile_amx.hpp. Compiled once per instruction set.

#include "base/numeric/integer.hpp"
#include "kernels/cpu/gemm/gemm_kernels.hpp"
#include "kernels/cpu/gemm/tile.hpp"
#include "kernels/cpu/gemm/tile_amx.hpp"

#if defined(DT_KERNELS_CPU_GEMM_PACK_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_GEMM_PACK_TOGGLE
#undef DT_KERNELS_CPU_GEMM_PACK_TOGGLE
#else
#define DT_KERNELS_CPU_GEMM_PACK_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

// Readers of units. along_k reads num_lanes units of one row, from a source whose k is contiguous.
// across_k reads one unit of each of num_lanes rows. `count` of a tail is in elements.
template <class T>
struct Widened {
  using Element = T;
  static constexpr std::int64_t elements = 1;  // per unit
  template <class Lanes>
  static HWY_INLINE V along_k(Lanes lanes, const Element* p) {
    return load(lanes, p);
  }
  template <class Lanes>
  static HWY_INLINE V across_k(Lanes lanes, const Element* p, std::int64_t, bool) {
    return load(lanes, p);
  }
};

#if HWY_TARGET == HWY_AVX3  // the only one that multiplies pairs
struct Bf16Pairs {
  using Element = BFloat16;
  static constexpr std::int64_t elements = 2;
  static HWY_INLINE V along_k(All, const Element* p) {
    const hn::Repartition<std::uint16_t, Floats> elements16;
    return hn::BitCast(floats, hn::LoadU(elements16, reinterpret_cast<const std::uint16_t*>(p)));
  }
  static HWY_INLINE V along_k(First first, const Element* p) {
    Element padded[2 * num_lanes] = {};
    std::memcpy(padded, p, static_cast<std::size_t>(first.count) * sizeof(Element));
    return along_k(All{}, padded);
  }
  template <class Lanes>
  static HWY_INLINE V across_k(Lanes lanes, const Element* p, std::int64_t stride, bool has_second) {
    constexpr hn::RebindToUnsigned<Floats> words;
    const auto first = hn::BitCast(words, load(lanes, p));
    const auto second = hn::BitCast(words, has_second ? load(lanes, p + stride) : hn::Zero(floats));
    return hn::BitCast(floats, hn::Or(hn::ShiftRight<16>(first), second));
  }
};
#endif

/// Exchanges rows[i] lane j and rows[j] lane i.
HWY_INLINE void transpose([[maybe_unused]] V (&rows)[num_lanes]) {
#if HWY_TARGET != HWY_SCALAR
  constexpr hn::RepartitionToWide<Floats> doubles;
  for (std::int64_t i = 0; i < num_lanes; i += 4) {  // within blocks of four lanes
    const auto low01 = hn::BitCast(doubles, hn::InterleaveLower(floats, rows[i], rows[i + 1]));
    const auto low23 = hn::BitCast(doubles, hn::InterleaveLower(floats, rows[i + 2], rows[i + 3]));
    const auto high01 = hn::BitCast(doubles, hn::InterleaveUpper(floats, rows[i], rows[i + 1]));
    const auto high23 = hn::BitCast(doubles, hn::InterleaveUpper(floats, rows[i + 2], rows[i + 3]));
    rows[i] = hn::BitCast(floats, hn::InterleaveLower(doubles, low01, low23));
    rows[i + 1] = hn::BitCast(floats, hn::InterleaveUpper(doubles, low01, low23));
    rows[i + 2] = hn::BitCast(floats, hn::InterleaveLower(doubles, high01, high23));
    rows[i + 3] = hn::BitCast(floats, hn::InterleaveUpper(doubles, high01, high23));
  }
#endif
#if HWY_TARGET == HWY_AVX2
  for (int i = 0; i < 4; ++i) {
    const V low = rows[i], high = rows[i + 4];
    rows[i] = hn::ConcatLowerLower(floats, high, low);
    rows[i + 4] = hn::ConcatUpperUpper(floats, high, low);
  }
#elif HWY_TARGET == HWY_AVX3
  for (int i = 0; i < 4; ++i) {  // blocks 0 1 2 3 of rows a, b, c, d
    const V a = rows[i], b = rows[i + 4], c = rows[i + 8], d = rows[i + 12];
    const V ab02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    const V ab13 = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    const V cd02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(d), c);
    const V cd13 = hn::OddEvenBlocks(d, hn::SwapAdjacentBlocks(c));
    rows[i] = hn::ConcatLowerLower(floats, cd02, ab02);
    rows[i + 4] = hn::ConcatLowerLower(floats, cd13, ab13);
    rows[i + 8] = hn::ConcatUpperUpper(floats, cd02, ab02);
    rows[i + 12] = hn::ConcatUpperUpper(floats, cd13, ab13);
  }
#endif
}

/// Panels of WIDTH rows over K units.
template <int WIDTH>
struct Panels {
  static constexpr std::int64_t group = WIDTH < num_lanes ? num_lanes : WIDTH;

  /// Stores rows [i, i + num_lanes) at k.
  HWY_INLINE void put(std::int64_t i, std::int64_t k, V v) const {
    float* p = data + i / WIDTH * WIDTH * K + k * WIDTH + i % WIDTH;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (WIDTH < num_lanes) {
      const hn::Half<Floats> half;
      hn::StoreU(hn::LowerHalf(half, v), half, p);
      hn::StoreU(hn::UpperHalf(half, v), half, p + WIDTH * K);
      return;
    }
#endif
    hn::StoreU(v, floats, p);
  }

  float* data;
  std::int64_t K;
};

constexpr std::int64_t steps_ahead = 8;

/// Packs rows whose k is contiguous: num_lanes rows by num_lanes units at a time.
template <class Reader, int WIDTH>
void pack_along_k(const typename Reader::Element* source, std::int64_t stride, std::int64_t count,
                  std::int64_t K, Panels<WIDTH> panels) {
  constexpr std::int64_t group = Panels<WIDTH>::group, step = num_lanes * Reader::elements;
  for (std::int64_t i = 0; i < count + group - 1 - (count + group - 1) % group; i += num_lanes) {
    const std::int64_t valid = count - i;
    const auto* row = source + i * stride;
    std::int64_t k = 0;
    for (; k + step <= K && valid >= num_lanes; k += step) {
      V rows[num_lanes];
      HWY_UNROLL(16)
      for (std::int64_t r = 0; r < num_lanes; ++r) {
        rows[r] = Reader::along_k(All{}, row + r * stride + k);
        __builtin_prefetch(row + r * stride + k + steps_ahead * step);
      }
      transpose(rows);
      HWY_UNROLL(16)
      for (std::int64_t r = 0; r < num_lanes; ++r) panels.put(i, k / Reader::elements + r, rows[r]);
    }
    for (; k < K; k += step) {
      V rows[num_lanes];
      const First tail{K - k < step ? K - k : step};
      for (std::int64_t r = 0; r < num_lanes; ++r) {
        rows[r] = r < valid ? Reader::along_k(tail, row + r * stride + k) : hn::Zero(floats);
      }
      transpose(rows);
      const std::int64_t unit = k / Reader::elements;
      for (std::int64_t r = 0; r < num_lanes && unit + r < panels.K; ++r) panels.put(i, unit + r, rows[r]);
    }
  }
}

/// The prefetch distance in rows of the source. The source's stride defeats the processor's own
/// prediction.
constexpr std::int64_t rows_ahead = 16;

/// Packs a source whose rows (of the panel) are contiguous at each k.
template <class Reader, int WIDTH>
void pack_across_k(const typename Reader::Element* source, std::int64_t stride, std::int64_t count,
                   std::int64_t K, Panels<WIDTH> panels) {
  constexpr std::int64_t group = Panels<WIDTH>::group;
  for (std::int64_t unit = 0; unit < panels.K; ++unit) {
    const std::int64_t k = unit * Reader::elements;
    const auto* p = source + k * stride;
    const bool has_second = k + 1 < K;
    for (std::int64_t i = 0; i < count * static_cast<std::int64_t>(sizeof(*p)); i += 64) {
      for (std::int64_t e = 0; e < Reader::elements; ++e) {
        __builtin_prefetch(reinterpret_cast<const std::byte*>(p + (rows_ahead + e) * stride) + i);
      }
    }
    std::int64_t i = 0;
    for (; i + num_lanes <= count; i += num_lanes) {
      panels.put(i, unit, Reader::across_k(All{}, p + i, stride, has_second));
    }
    if (i < count) {
      panels.put(i, unit, Reader::across_k(First{count - i}, p + i, stride, has_second));
      i += num_lanes;
    }
    for (; i % group != 0; i += num_lanes) panels.put(i, unit, hn::Zero(floats));
  }
}

template <class Reader, int WIDTH>
void pack_with(const Unpacked& source, std::int64_t count, std::int64_t K, float* data) {
  const auto* elements = reinterpret_cast<const typename Reader::Element*>(source.data);
  const Panels<WIDTH> panels{data, ceil_div(K, Reader::elements)};
  (source.k_contiguous ? pack_along_k<Reader, WIDTH> : pack_across_k<Reader, WIDTH>)(elements, source.stride,
                                                                                     count, K, panels);
}

template <int WIDTH>
void pack(const Unpacked& source, std::int64_t count, std::int64_t K, float* panels) {
#if HWY_TARGET == HWY_AVX3
  if (source.in_pairs) return pack_with<Bf16Pairs, WIDTH>(source, count, K, panels);
#endif
  with_elements(source.dtype, [&](auto element) HWY_ATTR {
    pack_with<Widened<decltype(element)>, WIDTH>(source, count, K, panels);
  });
}

#if HWY_TARGET == HWY_AVX3  // AVX-512, which every processor with AMX has

/// The blocks of two adjacent panels. A register is a row whose lanes are units, or a unit whose
/// lanes are rows.
struct TwoBlocks {
  V first[amx_units], second[amx_units];
};

HWY_INLINE __mmask32 first_of_32(std::int64_t count) {
  return count >= 32 ? ~__mmask32{0} : count > 0 ? (__mmask32{1} << count) - 1 : 0;
}

/// Reads rows [0, count) of 32 over elements [k, K) of a block, from a source whose k is
/// contiguous.
HWY_INLINE void read_rows(const BFloat16* source, std::int64_t stride, std::int64_t count, std::int64_t left,
                          TwoBlocks& to) {
  const __mmask32 elements = first_of_32(left);
  const auto row = [&](std::int64_t i) HWY_ATTR {
    const BFloat16* p = source + i * stride;
    return V{_mm512_castsi512_ps(_mm512_maskz_loadu_epi16(i < count ? elements : 0, p))};
  };
  HWY_UNROLL(16)
  for (std::int64_t i = 0; i < amx_rows; ++i) to.first[i] = row(i);
  HWY_UNROLL(16)
  for (std::int64_t i = 0; i < amx_rows; ++i) to.second[i] = row(i + amx_rows);
}

/// Reads the same from a source whose rows are contiguous at each k. The source has `left` values
/// of k left.
HWY_INLINE void read_units(const BFloat16* source, std::int64_t stride, std::int64_t count, std::int64_t left,
                           TwoBlocks& to) {
  alignas(64) static constexpr std::uint16_t low_pairs[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                              37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                              11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(low_pairs);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const __mmask32 elements = first_of_32(count);
  const auto row = [&](std::int64_t k) HWY_ATTR {
    const BFloat16* p = source + k * stride;
    return _mm512_maskz_loadu_epi16(k < left ? elements : 0, p);
  };
  HWY_UNROLL(16)
  for (std::int64_t u = 0; u < amx_units; ++u) {
    const __m512i even = row(2 * u), odd = row(2 * u + 1);
    to.first[u] = V{_mm512_castsi512_ps(_mm512_permutex2var_epi16(even, low, odd))};
    to.second[u] = V{_mm512_castsi512_ps(_mm512_permutex2var_epi16(even, high, odd))};
  }
}

/// Packs the block of 32 rows from i on and of 32 elements from k on. A left operand's panels hold
/// rows, a right operand's hold units. Registers that hold the other are transposed.
template <bool LEFT>
HWY_INLINE void pack_two_blocks(const Unpacked& source, std::int64_t i, std::int64_t k, std::int64_t count,
                                std::int64_t K, std::int64_t units, float* panels) {
  const auto* from = reinterpret_cast<const BFloat16*>(source.data);
  TwoBlocks blocks;
  if (source.k_contiguous) {
    read_rows(from + i * source.stride + k, source.stride, count - i, K - k, blocks);
  } else {
    read_units(from + i + k * source.stride, source.stride, count - i, K - k, blocks);
  }
  if (LEFT != source.k_contiguous) {
    transpose(blocks.first);
    transpose(blocks.second);
  }
  float* to = panels + i * units + k / 2 * amx_rows;
  HWY_UNROLL(16)
  for (std::int64_t r = 0; r < amx_units; ++r) hn::StoreU(blocks.first[r], floats, to + r * amx_rows);
  to += amx_rows * units;
  HWY_UNROLL(16)
  for (std::int64_t r = 0; r < amx_units; ++r) hn::StoreU(blocks.second[r], floats, to + r * amx_rows);
}

/// Packs blocks in the order that is contiguous in memory.
template <bool LEFT>
void pack_tiles(const Unpacked& source, std::int64_t count, std::int64_t K, float* panels) {
  constexpr std::int64_t step = 32;  // rows, and elements
  const std::int64_t units = ceil_div(K, step) * amx_units;
  const auto pack_block = [=](std::int64_t i, std::int64_t k)
                              HWY_ATTR { pack_two_blocks<LEFT>(source, i, k, count, K, units, panels); };
  if (source.k_contiguous) {
    for (std::int64_t i = 0; i < count; i += step) {
      for (std::int64_t k = 0; k < K; k += step) pack_block(i, k);
    }
  } else {
    for (std::int64_t k = 0; k < K; k += step) {
      for (std::int64_t i = 0; i < count; i += step) pack_block(i, k);
    }
  }
}

#endif

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
