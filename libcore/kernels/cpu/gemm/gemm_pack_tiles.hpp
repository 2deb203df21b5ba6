// Packs operands of a matrix product into the panels of tile_amx.hpp. Compiled once per instruction
// set, only for AVX-512, which every processor with AMX has.
#include "base/numeric/integer.hpp"
#include "kernels/cpu/gemm/gemm_pack.hpp"
#include "kernels/cpu/gemm/tile_amx.hpp"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

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

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
