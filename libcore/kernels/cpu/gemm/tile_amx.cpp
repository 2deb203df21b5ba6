#include "kernels/cpu/gemm/tile_amx.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wuninitialized"  // gcc 12 finds it in its own header
#define DT_AMX __attribute__((target("amx-tile,amx-bf16,avx512f")))
#define DT_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace dt::kernels::cpu {
namespace {

constexpr std::int64_t panel_block = amx_rows * amx_units;  // floats in a tile
constexpr std::int64_t tile_row_bytes = 64;

/// Linux saves a thread's 8 KiB of tiles only for processes that have requested it
/// (Documentation/arch/x86/xstate.rst).
bool kernel_permits_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

/// The configuration of all eight tiles: 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig whole_tiles;

DT_AMX void load_config() {
  _tile_loadconfig(&whole_tiles);
}
DT_AMX void release_tiles() {
  _tile_release();
}

/// Uses tiles 0 to 3 for C, 4 and 5 for A, 6 and 7 for B. Tiles are named by constants, hence no
/// loops.
DT_AMX void multiply_two_rows(std::int64_t units, const float* a, const float* b, float* c,
                              std::int64_t c_row, bool add, const Prefetch& prefetch) {
  const std::int64_t c_bytes = c_row * 4;
  float* below = c + amx_rows * c_row;
  if (add) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + amx_columns, c_bytes);
    _tile_loadd(2, below, c_bytes);
    _tile_loadd(3, below + amx_columns, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const float *a_below = a + amx_rows * units, *b_beside = b + amx_columns * units;
  for (std::int64_t k = 0; k < amx_units * units; k += panel_block) {
    _tile_loadd(6, b + k, tile_row_bytes);
    _tile_stream_loadd(4, a + k, tile_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    prefetch.fetch(k / amx_rows, amx_units);
    _tile_loadd(7, b_beside + k, tile_row_bytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_stream_loadd(5, a_below + k, tile_row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + amx_columns, c_bytes);
  _tile_stored(2, below, c_bytes);
  _tile_stored(3, below + amx_columns, c_bytes);
}

DT_AMX void multiply_one_row(std::int64_t units, const float* a, const float* b, float* c, std::int64_t c_row,
                             bool add) {
  const std::int64_t c_bytes = c_row * 4;
  if (add) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + amx_columns, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
  }
  const float* b_beside = b + amx_columns * units;
  for (std::int64_t k = 0; k < amx_units * units; k += panel_block) {
    _tile_stream_loadd(4, a + k, tile_row_bytes);
    _tile_loadd(6, b + k, tile_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b_beside + k, tile_row_bytes);
    _tile_dpbf16ps(1, 4, 7);
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + amx_columns, c_bytes);
}

// Strips are 16 rows of 32 columns. The sums of one strip are in tiles 0 and 1, those of the next
// in 2 and 3, so that one strip is stored while the next is multiplied.
struct Strips {
  std::int64_t units;
  TilePanels a, b;
  float* c;
  std::int64_t c_row;
  bool add;

  const float* left(std::int64_t strip) const { return a.first + strip * a.stride; }
  float* sums(std::int64_t strip) const { return c + strip * amx_rows * c_row; }
};

DT_AMX void multiply_even(const Strips& p, std::int64_t strip) {
  if (p.add) {
    _tile_loadd(0, p.sums(strip), p.c_row * 4);
    _tile_loadd(1, p.sums(strip) + amx_columns, p.c_row * 4);
  } else {
    _tile_zero(0);
    _tile_zero(1);
  }
  const float *a = p.left(strip), *b = p.b.first, *beside = b + p.b.stride;
  for (std::int64_t k = 0; k < amx_units * p.units; k += panel_block) {
    _tile_loadd(4, a + k, tile_row_bytes);
    _tile_loadd(6, b + k, tile_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, beside + k, tile_row_bytes);
    _tile_dpbf16ps(1, 4, 7);
  }
}
DT_AMX void multiply_odd(const Strips& p, std::int64_t strip) {
  if (p.add) {
    _tile_loadd(2, p.sums(strip), p.c_row * 4);
    _tile_loadd(3, p.sums(strip) + amx_columns, p.c_row * 4);
  } else {
    _tile_zero(2);
    _tile_zero(3);
  }
  const float *a = p.left(strip), *b = p.b.first, *beside = b + p.b.stride;
  for (std::int64_t k = 0; k < amx_units * p.units; k += panel_block) {
    _tile_loadd(5, a + k, tile_row_bytes);
    _tile_loadd(6, b + k, tile_row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_loadd(7, beside + k, tile_row_bytes);
    _tile_dpbf16ps(3, 5, 7);
  }
}
DT_AMX void store_strip(const Strips& p, std::int64_t strip) {
  float* c = p.sums(strip);
  if (strip % 2 == 0) {
    _tile_stored(0, c, p.c_row * 4);
    _tile_stored(1, c + amx_columns, p.c_row * 4);
  } else {
    _tile_stored(2, c, p.c_row * 4);
    _tile_stored(3, c + amx_columns, p.c_row * 4);
  }
}

/// Adds one block of one row: 16 columns of C.
DT_AVX512 void add_block_by_loops(const float* a, const float* b, float* c) {
  const __m512i high_half = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  __m512 low = _mm512_setzero_ps(), high = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < amx_units; ++k) {
    const __m512i left = _mm512_castps_si512(_mm512_set1_ps(a[k]));
    const __m512i right = _mm512_castps_si512(_mm512_loadu_ps(b + k * amx_columns));
    low = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(left, 16)),
                          _mm512_castsi512_ps(_mm512_slli_epi32(right, 16)), low);
    high = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(left, high_half)),
                           _mm512_castsi512_ps(_mm512_and_si512(right, high_half)), high);
  }
  _mm512_storeu_ps(c, _mm512_add_ps(_mm512_loadu_ps(c), _mm512_add_ps(low, high)));
}

void multiply_by_loops(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                       std::int64_t c_row, bool add) {
  const ScopedFlushDenormals without_subnormals;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = a.first + i / amx_rows * a.stride + i % amx_rows * amx_units;
    for (std::int64_t j = 0; j < 2 * amx_columns; j += amx_columns) {
      const float* columns = b.first + j / amx_columns * b.stride;
      float* sums = c + i * c_row + j;
      if (!add) std::fill_n(sums, amx_columns, 0.0f);
      for (std::int64_t k = 0; k < units; k += amx_units) {
        add_block_by_loops(row + k * amx_rows, columns + k * amx_columns, sums);
      }
    }
  }
}

}  // namespace

bool cpu_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned amx_bf16 = 1U << 22, amx_tile = 1U << 24;
  return (d & amx_bf16) != 0 && (d & amx_tile) != 0;
}

const std::string& amx_unavailable_reason() {
  static const std::string why = !cpu_has_amx() ? "has no AMX (amx_bf16)"
                                 : !kernel_permits_tiles()
                                     ? "has AMX, but the operating system does not permit its use"
                                     : "";
  return why;
}

AmxTiles::AmxTiles(bool in_use) : in_use_(in_use) {
  if (in_use_) load_config();
}
AmxTiles::~AmxTiles() {
  if (in_use_) release_tiles();
}

void multiply_tiles_amx(std::int64_t rows, std::int64_t units, const float* a, const float* b, float* c,
                        std::int64_t c_row, bool add, const Prefetch& prefetch) {
  if (rows > amx_rows) return multiply_two_rows(units, a, b, c, c_row, add, prefetch);
  multiply_one_row(units, a, b, c, c_row, add);
}

void multiply_tiles_by_loops(std::int64_t rows, std::int64_t units, const float* a, const float* b, float* c,
                             std::int64_t c_row, bool add, const Prefetch&) {
  const std::int64_t stride = amx_rows * units;
  multiply_by_loops(rows, units, {a, stride}, {b, stride}, c, c_row, add);
}

void multiply_strips_amx(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                         std::int64_t c_row, bool add) {
  const Strips product{units, a, b, c, c_row, add};
  const std::int64_t strips = ceil_div(rows, amx_rows);
  for (std::int64_t i = 0; i < strips; ++i) {
    (i % 2 == 0 ? multiply_even : multiply_odd)(product, i);
    if (i > 0) store_strip(product, i - 1);
  }
  if (strips > 0) store_strip(product, strips - 1);
}
void multiply_strips_by_loops(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                              std::int64_t c_row, bool add) {
  multiply_by_loops(round_up(rows, amx_rows), units, a, b, c, c_row, add);
}

ScopedFlushDenormals::ScopedFlushDenormals() : before_(_mm_getcsr()) {
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x40;
  _mm_setcsr(before_ | flush_to_zero | denormals_are_zero);
}
ScopedFlushDenormals::~ScopedFlushDenormals() {
  _mm_setcsr(before_);
}

}  // namespace dt::kernels::cpu

#else

namespace dt::kernels::cpu {

bool cpu_has_amx() {
  return false;
}
const std::string& amx_unavailable_reason() {
  static const std::string why = "has no AMX (amx_bf16)";
  return why;
}

AmxTiles::AmxTiles(bool in_use) : in_use_(in_use) {}
AmxTiles::~AmxTiles() = default;

void multiply_tiles_amx(std::int64_t, std::int64_t, const float*, const float*, float*, std::int64_t, bool,
                        const Prefetch&) {
  DT_CHECK(false, "this processor has no tiles");
}
void multiply_tiles_by_loops(std::int64_t, std::int64_t, const float*, const float*, float*, std::int64_t,
                             bool, const Prefetch&) {
  DT_CHECK(false, "this processor has no tiles");
}
void multiply_strips_amx(std::int64_t, std::int64_t, TilePanels, TilePanels, float*, std::int64_t, bool) {
  DT_CHECK(false, "this processor has no tiles");
}
void multiply_strips_by_loops(std::int64_t, std::int64_t, TilePanels, TilePanels, float*, std::int64_t,
                              bool) {
  DT_CHECK(false, "this processor has no tiles");
}
ScopedFlushDenormals::ScopedFlushDenormals() : before_(0) {}
ScopedFlushDenormals::~ScopedFlushDenormals() = default;

}  // namespace dt::kernels::cpu

#endif
