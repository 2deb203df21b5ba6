#pragma once
// The inner kernel on bf16 operands with AMX's tdpbf16ps, which multiplies tiles of 16 × 16 pairs.
//
// Panels. A unit is a pair of bf16 along k (2k low, 2k+1 high). Units come in blocks of 16, zero
// beyond the end. A panel of A holds 16 rows, one tile image for each block: unit (i, k) is at a[k
// / 16 · 256 + i · 16 + k % 16]. A panel of B holds 16 columns: unit (k, j) is at b[k · 16 + j]. So
// a block of either is 1 KiB as stored.
//
// Numerics: within a block, the products of low and of high halves are two chains of fused
// multiply-adds in the order of k that start at zero. Their sum is added to the element of C.
// Subnormal operands and results count as zero. An element is one chain over all blocks, at any
// division of k into calls with `add`.
// Source: Intel SDM vol. 2, TDPBF16PS.

#include <cstdint>
#include <string>

namespace dt::kernels::cpu {

/// A prefetch into the L2 cache by an inner kernel: `unit_bytes` for each unit of k that it
/// multiplies. Kernels of tiles fetch a part with each unit. All at once would fill the core's
/// queue of misses, behind which their own loads wait. Kernels of vectors, which need every load
/// that the core can make, fetch all at once.
///
/// Kernels take it by reference. A copy on the stack that is read in another width than it was
/// written waits for every store before it.
struct Prefetch {
  const char* from = nullptr;
  std::int64_t unit_bytes = 0;

  void fetch(std::int64_t first_unit, std::int64_t units) const {
    constexpr std::int64_t line = 64;
    const char* p = from + first_unit * unit_bytes;
    for (std::int64_t i = 0; i < units * unit_bytes; i += line) __builtin_prefetch(p + i, 0, 2);
  }
};

inline constexpr std::int64_t amx_rows = 16, amx_columns = 16, amx_units = 16;

bool cpu_has_amx();
/// Returns why this process cannot use AMX's bf16 tiles, as text after "the CPU of HOST"; empty if
/// it can. The first call requests permission from the kernel.
const std::string& amx_unavailable_reason();

/// Configures this thread's tiles for multiply_tiles_amx for its lifetime. Loops do not need it.
class AmxTiles {
 public:
  explicit AmxTiles(bool in_use);
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;

 private:
  bool in_use_;
};

/// Computes c = a · b, or adds that to c with `add`, for 1 to 32 rows and 32 columns. The operands
/// are two panels of A and two of B, each pair `units` (whole blocks) times 16 floats apart. It may
/// write up to a whole panel's rows. The thread must hold AmxTiles.
void multiply_tiles_amx(std::int64_t rows, std::int64_t units, const float* a, const float* b, float* c,
                        std::int64_t c_row, bool add, const Prefetch& prefetch = {});

/// Computes the same bits without AMX, for tests. Needs AVX-512. (NaNs may differ in their bits.)
void multiply_tiles_by_loops(std::int64_t rows, std::int64_t units, const float* a, const float* b, float* c,
                             std::int64_t c_row, bool add, const Prefetch& prefetch = {});

/// The panels of an operand, `stride` floats apart.
struct TilePanels {
  const float* first;
  std::int64_t stride;
};

/// Computes c = a · b, or adds that to c with `add`, for whole panels of A with `rows` rows, and 32
/// columns. The thread must hold AmxTiles.
void multiply_strips_amx(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                         std::int64_t c_row, bool add);
/// Computes the same bits without AMX, like multiply_tiles_by_loops.
void multiply_strips_by_loops(std::int64_t rows, std::int64_t units, TilePanels a, TilePanels b, float* c,
                              std::int64_t c_row, bool add);

/// Makes subnormals count as zero in this thread's vectors for its lifetime, as they do in tiles. A
/// vector instruction that meets a subnormal may take a hundred times as long.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace dt::kernels::cpu
