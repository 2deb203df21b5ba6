#pragma once
// The inner kernel on bf16 operands: AMX's tdpbf16ps, which multiplies tiles of 16 × 16 pairs.
//
// Panels. A unit is a pair of bf16 along k (2k low, 2k+1 high); units come in blocks of 16, zero beyond the
// end. A panel of A holds 16 rows, one tile image a block: unit (i, k) at a[k / 16 · 256 + i · 16 + k % 16].
// A panel of B holds 16 columns: unit (k, j) at b[k · 16 + j]. So a block of either is 1 KiB as it lies.
//
// Bits. Within a block the products of low and of high halves are two chains of fused multiply-adds in the
// order of k that start at zero; their sum is added to the element of C. Operands and results that are
// subnormal count as zero. (Intel SDM vol. 2, TDPBF16PS.) An element is one chain over all blocks, wherever
// k is cut between calls with `add`.

#include <cstdint>
#include <string>

#include "kernels/cpu/ahead.hpp"

namespace dt::kernels::cpu {

inline constexpr std::int64_t amx_rows = 16, amx_columns = 16, amx_units = 16;

bool cpu_has_amx();
/// Why this process cannot use AMX's tiles of bf16, as what follows "the CPU of HOST"; empty where it can.
/// Asks the kernel for them the first time.
const std::string& why_no_amx();

/// While it lives, this thread's tiles are set up as multiply_tiles_amx expects. Not needed by loops.
class AmxTiles {
 public:
  explicit AmxTiles(bool in_use);
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;

 private:
  bool in_use_;
};

/// c = a · b, or c += with `add`, for 1 to 32 rows and 32 columns: of two panels of A, `units` (whole blocks)
/// times 16 floats apart, and two of B likewise. It may write up to a whole panel's rows. The thread holds
/// AmxTiles.
void multiply_tiles_amx(std::int64_t rows, std::int64_t units, const float* a, const float* b, float* c,
                        std::int64_t c_row, bool add, const Ahead& ahead = {});

/// The same bits without AMX, for tests; needs AVX-512. (A NaN is one, whichever.)
void multiply_tiles_by_loops(std::int64_t rows, std::int64_t units, const float* a, const float* b, float* c,
                             std::int64_t c_row, bool add, const Ahead& ahead = {});

/// Panels of an operand, `stride` floats from one to the next.
struct TilePanels {
  const float* first;
  std::int64_t stride;
};

/// c = a · b, or c += with `add`, for whole panels of A that hold `rows` rows, and 32 columns. The thread
/// holds AmxTiles.
void multiply_strips_amx(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                         std::int64_t c_row, bool add);
/// As multiply_tiles_by_loops.
void multiply_strips_by_loops(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                              std::int64_t c_row, bool add);

/// While it lives, subnormals count as zero in this thread's vectors too, as they do in tiles: a vector's
/// instruction that meets one may take a hundred times as long.
class WithoutSubnormals {
 public:
  WithoutSubnormals();
  ~WithoutSubnormals();
  WithoutSubnormals(const WithoutSubnormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace dt::kernels::cpu
