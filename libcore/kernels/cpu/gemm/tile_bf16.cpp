#include "kernels/cpu/gemm/tile_bf16.hpp"

#include "base/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <hwy/base.h>

#define DT_AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace dt::kernels::cpu {
namespace {

constexpr int tile_rows = 8, num_lanes = 16;

template <int ROWS, int VECTORS>
DT_AVX512_BF16 void multiply_rows(std::int64_t K, const float* a, const float* b, float* c,
                                  std::int64_t c_row, bool add) {
  __m512 sums[ROWS][VECTORS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < VECTORS; ++j) sums[i][j] = _mm512_setzero_ps();
  }
  for (std::int64_t k = 0; k < K; ++k, a += tile_rows, b += VECTORS * num_lanes) {
    __m512 right[VECTORS];
    for (int j = 0; j < VECTORS; ++j) right[j] = _mm512_loadu_ps(b + j * num_lanes);
    for (int i = 0; i < ROWS; ++i) {
      const __m512 left = _mm512_set1_ps(a[i]);
      for (int j = 0; j < VECTORS; ++j) {
        sums[i][j] = _mm512_dpbf16_ps(sums[i][j], (__m512bh)left, (__m512bh)right[j]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < ROWS; ++i) {
    HWY_UNROLL(16)
    for (int j = 0; j < VECTORS; ++j) {
      float* p = c + i * c_row + j * num_lanes;
      _mm512_storeu_ps(p, add ? _mm512_add_ps(_mm512_loadu_ps(p), sums[i][j]) : sums[i][j]);
    }
  }
}

template <int VECTORS>
DT_AVX512_BF16 void multiply_vectors(std::int64_t rows, std::int64_t K, const float* a, const float* b,
                                     float* c, std::int64_t c_row, bool add) {
  if (2 * rows > tile_rows) {
    multiply_rows<tile_rows, VECTORS>(K, a, b, c, c_row, add);
  } else if (rows > 1) {
    multiply_rows<tile_rows / 2, VECTORS>(K, a, b, c, c_row, add);
  } else {
    multiply_rows<1, VECTORS>(K, a, b, c, c_row, add);
  }
}

}  // namespace

bool has_bf16_tiles() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}

void multiply_tile_bf16(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                        std::int64_t c_row, bool add) {
  multiply_vectors<2>(rows, K, a, b, c, c_row, add);
}

void multiply_wide_tile_bf16(std::int64_t rows, std::int64_t K, const float* a, const float* b, float* c,
                             std::int64_t c_row, bool add) {
  multiply_vectors<3>(rows, K, a, b, c, c_row, add);
}

}  // namespace dt::kernels::cpu

#else

namespace dt::kernels::cpu {

bool has_bf16_tiles() {
  return false;
}

void multiply_tile_bf16(std::int64_t, std::int64_t, const float*, const float*, float*, std::int64_t, bool) {
  DT_CHECK(false, "this processor multiplies no bf16");
}

void multiply_wide_tile_bf16(std::int64_t, std::int64_t, const float*, const float*, float*, std::int64_t,
                             bool) {
  DT_CHECK(false, "this processor multiplies no bf16");
}

}  // namespace dt::kernels::cpu

#endif
