// Packing and the softmax's power for attention's passes with AMX tiles. Compiled once per
// instruction set, only for AVX-512, which every processor with AMX has.
#include "kernels/cpu/attention/attention_panels.hpp"
#include "kernels/cpu/gemm/gemm_pack_tiles.hpp"

#if defined(DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE
#undef DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE
#else
#define DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE
#endif

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// The keys, or queries, in a tile's block of units.
constexpr std::int64_t tile_pairs = 2 * amx_units;

/// Packs with positions as a panel's rows (LEFT) or columns and features as its units. Pads both
/// with zeros up to a multiple of 32.
template <bool LEFT>
void pack_tile_features(const BFloat16* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                        float* panels) {
  pack_tiles<LEFT>({reinterpret_cast<const std::byte*>(source), source_row, true, Units::bf16_pairs}, rows, D,
                   panels);
}
/// Packs with features as a panel's rows (LEFT) or columns and positions as its units.
template <bool LEFT>
void pack_tile_positions(const BFloat16* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                         float* panels) {
  pack_tiles<LEFT>({reinterpret_cast<const std::byte*>(source), source_row, false, Units::bf16_pairs}, D,
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

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
