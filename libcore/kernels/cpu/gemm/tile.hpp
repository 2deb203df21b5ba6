// The inner kernel of dt's matrix products: a tile of C in registers from packed panels of A and B,
// which are in cache. Compiled once per instruction set.
//
// Panels. K counts units. A unit is one fp32, or, for multiply_tile_bf16 (tile_bf16.hpp), a pair of
// bf16: 2k low, 2k+1 high, zero beyond an odd end. A panel of A holds tile_rows rows, k by k: unit
// (i, k) is at a[k · tile_rows + i]. A panel of B holds tile_columns columns: unit (k, j) is at
// b[k · tile_columns + j]. Rows and columns beyond the matrix are zero, and the tile of C is whole:
// each row of c must have room for tile_columns.
//
// Numerics: each element of the tile is one chain of multiply-adds in the order of k that starts at
// zero, at any place in the tile. With `add`, the chain's sum is then added to c.
#include "kernels/cpu/simd/simd.hpp"

#if defined(DT_KERNELS_CPU_TILE_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_TILE_TOGGLE
#undef DT_KERNELS_CPU_TILE_TOGGLE
#else
#define DT_KERNELS_CPU_TILE_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

// Accumulators for rows × vectors, the vectors of B and one broadcast of A must fit the registers.
// A panel of A is half a vector wide, or whole vectors, so that packing can split what it
// transposes.
#if HWY_TARGET == HWY_AVX3
constexpr int tile_rows = 8, tile_vectors = 2;
#elif HWY_TARGET == HWY_AVX2
constexpr int tile_rows = 4, tile_vectors = 3;
#elif HWY_TARGET == HWY_SCALAR
constexpr int tile_rows = 4, tile_vectors = 4;
#else
constexpr int tile_rows = 8, tile_vectors = 2;
#endif
constexpr std::int64_t tile_columns = tile_vectors * num_lanes;
// Large products use wider tiles, with fewer loads for the same multiplications. Blocks of 64
// columns would leave them partly empty.
constexpr int wide_vectors = tile_vectors < 3 ? 3 : tile_vectors;
static_assert(tile_rows % num_lanes == 0 || tile_rows * 2 == num_lanes);

template <int ROWS, int VECTORS>
HWY_INLINE void multiply_rows(std::int64_t K, const float* a, const float* b, float* c, std::int64_t c_row,
                              bool add) {
  V sums[ROWS][VECTORS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < VECTORS; ++j) sums[i][j] = hn::Zero(floats);
  }
  for (std::int64_t k = 0; k < K; ++k, a += tile_rows, b += VECTORS * num_lanes) {
    V right[VECTORS];
    for (int j = 0; j < VECTORS; ++j) right[j] = hn::LoadU(floats, b + j * num_lanes);
    for (int i = 0; i < ROWS; ++i) {
      const V left = hn::Set(floats, a[i]);
      for (int j = 0; j < VECTORS; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < ROWS; ++i) {
    HWY_UNROLL(16)
    for (int j = 0; j < VECTORS; ++j) {
      float* p = c + i * c_row + j * num_lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(floats, p), sums[i][j]) : sums[i][j], floats, p);
    }
  }
}

/// Computes c = a · b, or adds that to c with `add`, for the first `rows` rows of a panel. It may
/// write up to tile_rows rows. It covers all columns of one panel of b: tile_columns, or VECTORS
/// whole vectors.
template <int VECTORS = tile_vectors>
void multiply_tile(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                   std::int64_t c_row, bool add) {
  if (2 * rows > tile_rows) {
    multiply_rows<tile_rows, VECTORS>(K, a, b, c, c_row, add);
  } else if (rows > 1) {
    multiply_rows<tile_rows / 2, VECTORS>(K, a, b, c, c_row, add);
  } else {
    multiply_rows<1, VECTORS>(K, a, b, c, c_row, add);
  }
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
