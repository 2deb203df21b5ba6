// Small matrix products over blocks that lie in cache, and how heads are packed for them. Once per
// instruction set.
#include "kernels/cpu/attention_head.hpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// a(i, k) = data[i · row + k · column], so that a transposed block needs no copy.
struct Left {
  const float* data;
  std::int64_t row, column;
};

/// A tile of c held in registers: ROWS × VECTORS. Every element is one chain of multiply-adds in the order of
/// k.
template <int ROWS, int VECTORS>
HWY_INLINE void multiply_tile(std::int64_t N, std::int64_t K, Left a, const float* b, std::int64_t b_row,
                              float* c, std::int64_t c_row, bool add) {
  V sums[ROWS][VECTORS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < VECTORS; ++j) sums[i][j] = hn::Zero(floats);
  }
  for (std::int64_t k = 0; k < K; ++k) {
    V right[VECTORS];
    for (int j = 0; j < VECTORS; ++j) right[j] = hn::LoadU(floats, b + k * b_row + j * num_lanes);
    for (int i = 0; i < ROWS; ++i) {
      const V left = hn::Set(floats, a.data[i * a.row + k * a.column]);
      for (int j = 0; j < VECTORS; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
    }
  }
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < VECTORS; ++j) {
      float* p = c + i * c_row + j * num_lanes;
      const std::int64_t left = N - j * num_lanes;
      if (left >= num_lanes) {
        store(All{}, add ? hn::Add(sums[i][j], load(All{}, p)) : sums[i][j], p);
      } else if (left > 0) {
        store(First{left}, add ? hn::Add(sums[i][j], load(First{left}, p)) : sums[i][j], p);
      }
    }
  }
}

template <int VECTORS>
HWY_INLINE void multiply_panel(std::int64_t M, std::int64_t N, std::int64_t K, Left a, const float* b,
                               std::int64_t b_row, float* c, std::int64_t c_row, bool add) {
  constexpr int rows = 6;
  std::int64_t i = 0;
  for (; i + rows <= M; i += rows, a.data += rows * a.row) {
    multiply_tile<rows, VECTORS>(N, K, a, b, b_row, c + i * c_row, c_row, add);
  }
  if (i + 4 <= M) {
    multiply_tile<4, VECTORS>(N, K, a, b, b_row, c + i * c_row, c_row, add);
    i += 4;
    a.data += 4 * a.row;
  }
  for (; i < M; ++i, a.data += a.row) multiply_tile<1, VECTORS>(N, K, a, b, b_row, c + i * c_row, c_row, add);
}

/// c_MN = a_MK · b_KN, or c += with `add`. b's rows must be readable, and zero, up to a whole vector.
inline void multiply_block(std::int64_t M, std::int64_t N, std::int64_t K, Left a, const float* b,
                           std::int64_t b_row, float* c, std::int64_t c_row, bool add) {
  constexpr int wide = HWY_TARGET == HWY_AVX2 ? 2 : 4;  // AVX2 has half the registers
  for (; N > (wide - 1) * num_lanes; N -= wide * num_lanes, b += wide * num_lanes, c += wide * num_lanes) {
    multiply_panel<wide>(M, N, K, a, b, b_row, c, c_row, add);
  }
  for (; N > 0; N -= num_lanes, b += num_lanes, c += num_lanes) {
    multiply_panel<1>(M, N, K, a, b, b_row, c, c_row, add);
  }
}

/// target = source · scale, rows of D at `target_row` ≥ D floats, filled up with zeros to `target_row`.
inline void pack_rows(const float* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                      float scale, float* target, std::int64_t target_row) {
  const V factor = hn::Set(floats, scale);
  for (std::int64_t r = 0; r < rows; ++r, source += source_row, target += target_row) {
    std::memset(target + D, 0, static_cast<std::size_t>(target_row - D) * sizeof(float));
    for_lanes(D, [=](std::int64_t d, auto lanes)
                     HWY_ATTR { store(lanes, hn::Mul(load(lanes, source + d), factor), target + d); });
  }
}

/// target[d][r] = source[r][d] for one block; columns beyond `rows` are zero.
inline void pack_transposed(const float* source, std::int64_t source_row, std::int64_t rows, std::int64_t D,
                            float* target) {
  for (std::int64_t d = 0; d < D; ++d) {
    for (std::int64_t r = 0; r < rows; ++r) target[d * attention_block + r] = source[r * source_row + d];
    for (std::int64_t r = rows; r < attention_block; ++r) target[d * attention_block + r] = 0;
  }
}

/// The lanes of vector i of a row of scores whose first `valid` are not masked.
HWY_INLINE hn::Mask<Floats> seen(std::int64_t valid, std::int64_t i) {
  const std::int64_t left = valid - i;
  return hn::FirstN(floats, static_cast<std::size_t>(left < 0 ? 0 : left > num_lanes ? num_lanes : left));
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
