// What attention's passes in AMX's tiles share: packing, and the softmax's power. Once per instruction set;
// for AVX-512 alone, which every processor with AMX has.
#include "kernels/cpu/attention_panels.hpp"
#include "kernels/cpu/gemm_pack_tiles.hpp"

#if defined(DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE
#undef DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE
#else
#define DT_KERNELS_CPU_ATTENTION_TILES_TOGGLE
#endif

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Keys, or queries, of a tile's block of units.
constexpr std::int64_t tile_pairs = 2 * amx_units;

/// Positions are a panel's rows (LEFT) or columns, features its units. Zero up to a multiple of 32 of either.
template <bool LEFT>
void pack_tile_features(const BFloat16* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                        float* panels) {
  pack_tiles<LEFT>({reinterpret_cast<const std::byte*>(source), source_row, true, Units::bf16_pairs}, rows, D,
                   panels);
}
/// Features are a panel's rows (LEFT) or columns, positions its units.
template <bool LEFT>
void pack_tile_positions(const BFloat16* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                         float* panels) {
  pack_tiles<LEFT>({reinterpret_cast<const std::byte*>(source), source_row, false, Units::bf16_pairs}, D,
                   rows, panels);
}
/// Floats of such a panel.
inline std::int64_t tile_panel(std::int64_t elements) {
  return amx_rows * round_up(elements, tile_pairs) / 2;
}

/// 2^x within 2^-13, for what is rounded to bf16 afterwards. NaN stays. With n = ⌊x⌋: 2ⁿ · 2^(x − n), the
/// latter by the polynomial of least relative error.
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
